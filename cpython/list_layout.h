// What lists keep to themselves.
#pragma once

#include "core/ref.h"

namespace armature::cpython {

// While a list is sorted, it is empty and has no memory, not even none: any change gives it some,
// by which list.sort() finds out.
inline void noteListChange(BorrowedRef<> list) {
  auto& allocated = reinterpret_cast<PyListObject*>(list.get())->allocated;
  if (allocated < 0) allocated = 0;
}

}  // namespace armature::cpython
