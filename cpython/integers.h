// Exact ints, and the range objects that are made of them.
#pragma once

#include <cstddef>

#include "core/ref.h"

namespace armature::cpython {

// Are two exact ints the same number? Allocates nothing.
bool sameInteger(BorrowedRef<> a, BorrowedRef<> b);

// An int of a subclass as an exact one, a new reference. Null with MemoryError set.
Ref<> exactInteger(BorrowedRef<> integer);

// The bits of an exact int's magnitude; SIZE_MAX where a size_t does not count them.
size_t bitLength(BorrowedRef<> integer);

// Is an exact int below 2 ** 60 in magnitude? As fast as a look at its header.
bool isBelow60Bits(BorrowedRef<> integer);

// An int as a C int, after __index__. -1 with OverflowError or TypeError set if it is none.
int asInt(BorrowedRef<> object);

// The numbers of a range object, borrowed.
struct RangeFields {
  PyObject* start;
  PyObject* stop;
  PyObject* step;
  PyObject* length;
};
const RangeFields& rangeFields(BorrowedRef<> range);

}  // namespace armature::cpython
