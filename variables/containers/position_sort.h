// CPython's own sort, of positions: whoever calls it says which of two keys is less.
#pragma once

#include <cstddef>

#include "core/ref.h"

namespace armature {

class Order {
 public:
  // 1, 0, or -1 to stop the sort, with or without an exception set.
  virtual int lessThan(size_t left, size_t right) = 0;

 protected:
  ~Order() = default;
};

// Sorts the list of positions, 0 and so on, as list.sort does. False where it was stopped, with an
// exception set and the positions as far as it came.
bool sortPositions(BorrowedRef<> positions, bool reverse, Order& order);
// The same by a list of objects, which are compared as they are.
bool sortPositionsBy(BorrowedRef<> positions, BorrowedRef<> keys, bool reverse);
// A new list of so many.
Ref<> makePositions(size_t count);

}  // namespace armature
