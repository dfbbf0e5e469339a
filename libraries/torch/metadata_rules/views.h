// Ways to see the same memory with other sizes and strides.
#pragma once

#include "libraries/torch/metadata_rules/result.h"

namespace armature {

// Each changes the metadata of a view. The arguments are in range.
void selectIndex(TensorMetadata& view, int64_t dimension, Dimension index);
void sliceDimension(TensorMetadata& view, int64_t dimension, Dimension start, Dimension stop,
                    Dimension step);
void insertDimension(TensorMetadata& view, int64_t dimension);
void removeDimension(TensorMetadata& view, int64_t dimension);

// Replaces one -1 by what the number of elements leaves; false if the sizes do not fit.
bool inferSizes(Dimensions& sizes, Dimension elements);
// The strides with which `tensor` has the sizes without a copy; false if there are none.
bool viewStrides(const TensorMetadata& tensor, const Dimensions& sizes, Dimensions& strides);

}  // namespace armature
