// collections.deque, whose type CPython keeps to itself.
#pragma once

#include <string_view>

#include "core/ref.h"

namespace armature::cpython {

// Is it a deque, or an instance of a subclass?
inline bool isDeque(BorrowedRef<> object) {
  for (PyTypeObject* type = Py_TYPE(object.get()); type; type = type->tp_base)
    if (!(type->tp_flags & Py_TPFLAGS_HEAPTYPE) && type->tp_itemsize == 0 &&
        std::string_view(type->tp_name) == "collections.deque")
      return true;
  return false;
}

// len() of a deque, which counts in ob_size (Modules/_collectionsmodule.c, deque_len).
inline Py_ssize_t dequeLength(BorrowedRef<> deque) { return Py_SIZE(deque.get()); }

}  // namespace armature::cpython
