// Operations that work element by element on tensors that broadcast, and on numbers.
#pragma once

#include "libraries/torch/metadata_rules/promotion.h"
#include "libraries/torch/metadata_rules/result.h"

namespace armature {

class Elementwise {
 public:
  // An argument that is a tensor or a number; false if it is neither.
  bool add(const Call& call, size_t parameter);
  void add(const TensorMetadata& tensor);
  // Takes part in the shape and layout, not in the dtype (a condition, a mask).
  void addUnpromoted(const TensorMetadata& tensor);

  // The promoted dtype of what was added.
  DType dtype() const { return promotion_.result(); }
  // Is one of the operands a tensor or a number of this kind?
  bool has(DType dtype) const;
  bool hasComplex() const;

  // A new tensor of the dtype, in the layout that torch gives it; null if the shapes do not fit.
  // Operands whose dtype is not `computed` are converted first.
  MetadataPointer make(DType computed, DType dtype) const;

 private:
  llvm::SmallVector<const TensorMetadata*, 3> operands_;
  llvm::SmallVector<bool, 3> promoted_;
  llvm::SmallVector<DType, 3> dtypes_;
  Promotion promotion_;
  bool hasNumber_ = false;
};

}  // namespace armature
