#include "libraries/torch/metadata_rules/elementwise.h"

#include <algorithm>

#include "libraries/torch/metadata_rules/layout.h"

namespace armature {

bool Elementwise::add(const Call& call, size_t parameter) {
  if (const TensorMetadata* tensor = call.tensor(parameter)) {
    add(*tensor);
    return true;
  }
  std::optional<Scalar> scalar = call.scalar(parameter);
  if (!scalar) return false;
  promotion_.add(*scalar);
  dtypes_.push_back(scalar->dtype);
  hasNumber_ = true;
  return true;
}

void Elementwise::add(const TensorMetadata& tensor) {
  promotion_.add(tensor);
  dtypes_.push_back(tensor.dtype);
  operands_.push_back(&tensor);
  promoted_.push_back(true);
}

void Elementwise::addUnpromoted(const TensorMetadata& tensor) {
  operands_.push_back(&tensor);
  promoted_.push_back(false);
}

bool Elementwise::has(DType dtype) const { return llvm::is_contained(dtypes_, dtype); }

bool Elementwise::hasComplex() const { return std::ranges::any_of(dtypes_, isComplex); }

MetadataPointer Elementwise::make(DType computed, DType dtype) const {
  Dimensions sizes;
  if (operands_.empty() || !broadcast(operands_, sizes)) return nullptr;
  llvm::SmallVector<TensorMetadata, 3> converted;
  converted.reserve(operands_.size());
  llvm::SmallVector<const TensorMetadata*, 4> operands;
  for (size_t i = 0; i < operands_.size(); ++i) {
    operands.push_back(operands_[i]);
    if (!promoted_[i] || operands_[i]->dtype == computed) continue;
    // The copy of another dtype is dense.
    converted.push_back(*operands_[i]);
    converted.back().strides = preservedStrides(*operands_[i]);
    operands.back() = &converted.back();
  }
  // A number is a tensor without dimensions to torch: it makes the shapes differ.
  TensorMetadata number;
  if (hasNumber_) operands.push_back(&number);
  MetadataPointer result = newTensor(*operands_[0], sizes, dtype);
  result->strides = elementwiseStrides(operands, sizes);
  return result;
}

}  // namespace armature
