// Which elements of one memory arrays have.
#pragma once

#include "shapes/tensor_metadata.h"

namespace armature {

// May two elements of the array be at one place? False only where they are not.
bool mayOverlapItself(const TensorMetadata& array);

// May two arrays that lie in one memory, from which both count their offsets, have an element in
// common? False only where they have none: whether a bounded sum of multiples of the strides is the
// distance of the arrays is decided exactly, as numpy.shares_memory() does, but for a limit of
// work.
bool mayOverlap(const TensorMetadata& left, const TensorMetadata& right);

// Does `whole` have all the places between its first and its last one, each once, and `part` none
// but these?
bool isPart(const TensorMetadata& part, const TensorMetadata& whole);

// Have both the same elements, each at the same index?
bool haveSamePlaces(const TensorMetadata& left, const TensorMetadata& right);

}  // namespace armature
