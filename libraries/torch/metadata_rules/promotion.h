// torch's type promotion.
#pragma once

#include <optional>

#include "libraries/torch/metadata_rules/call.h"

namespace armature {

// The smallest dtype that holds both. Common dtypes only.
DType promoteTypes(DType a, DType b);

// torch.get_default_dtype()
DType defaultDType();

// The dtype of an operation's result: dimensions count before tensors without, those before
// numbers.
class Promotion {
 public:
  void add(const TensorMetadata& tensor);
  void add(const Scalar& scalar);
  DType result() const;

 private:
  std::optional<DType> dimensions_;
  std::optional<DType> zeroDimensions_;
  std::optional<DType> numbers_;
};

// What operations that only know floating-point numbers make of integers.
DType toFloating(DType dtype);

}  // namespace armature
