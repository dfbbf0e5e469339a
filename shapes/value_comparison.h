// Comparisons of plain values, which run no code of the program.
#pragma once

#include "core/ref.h"

namespace armature {

// Exact ints and floats, and exact strs: what a trace compares without knowing the values.
bool areComparableValues(BorrowedRef<> left, BorrowedRef<> right);

// 1 or 0: does the relation (Py_EQ and its like) hold? -1 for what is not comparable so, and where
// there is no memory. Sets no exception.
int compareValues(BorrowedRef<> left, int relation, BorrowedRef<> right);

}  // namespace armature
