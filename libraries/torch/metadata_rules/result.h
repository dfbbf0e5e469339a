// How rules put their results together.
#pragma once

#include <llvm/ADT/ArrayRef.h>

#include <memory>

#include "libraries/torch/metadata_rules/call.h"

namespace armature {

using MetadataPointer = std::shared_ptr<TensorMetadata>;

// A tensor of its own memory, on the device of `like`, dense in row-major order.
MetadataPointer newTensor(const TensorMetadata& like, Dimensions sizes, DType dtype);

// The same elements seen in another way: sizes, strides and offset are the caller's to change.
MetadataPointer viewOf(const TensorMetadata& base);

// Sets requires_grad of the result of a differentiable operation, and gives it. True.
bool give(const Call& call, ResultStructure& result, MetadataPointer metadata);
// A view of `base`, which keeps requiring grad even where grad mode is off; its history ends there.
bool giveView(const Call& call, ResultStructure& result, const TensorMetadata& base,
              MetadataPointer view);
// A new tensor that never requires grad. True.
bool giveWithoutGrad(ResultStructure& result, MetadataPointer metadata);
// The operation returns the very tensor that it was given. True.
bool giveItself(ResultStructure& result, const TensorMetadata& metadata);
// A tuple of views of `base`. True.
bool giveViews(const Call& call, ResultStructure& result, const TensorMetadata& base,
               llvm::ArrayRef<MetadataPointer> views);
// A tuple of tensors, of a tuple's subtype. True.
bool giveTuple(const Call& call, ResultStructure& result, llvm::ArrayRef<MetadataPointer> elements,
               Ref<> type);

}  // namespace armature
