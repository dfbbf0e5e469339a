// The memory layouts that torch gives to results.
#pragma once

#include <llvm/ADT/ArrayRef.h>

#include "shapes/tensor_metadata.h"

namespace armature {

// No element is there twice, and no memory between elements is unused.
bool isNonOverlappingAndDense(const TensorMetadata& tensor);
// Images (four dimensions) stored with the channels innermost.
bool isChannelsLast(const TensorMetadata& tensor);
// torch's guess from the strides that channels are meant to be innermost.
bool looksLikeChannelsLast(const TensorMetadata& tensor);
// With the channels innermost, then the dimensions of the images.
void setChannelsLastStrides(TensorMetadata& tensor);

// The strides of a copy that keeps the order of the dimensions in memory.
Dimensions preservedStrides(const TensorMetadata& tensor);

// The shape to which all broadcast; false if they do not.
bool broadcast(llvm::ArrayRef<const TensorMetadata*> operands, Dimensions& sizes);

// The strides of the result of an operation that works element by element, as TensorIterator
// chooses them. `sizes` is the common shape.
Dimensions elementwiseStrides(llvm::ArrayRef<const TensorMetadata*> operands,
                              const Dimensions& sizes);

}  // namespace armature
