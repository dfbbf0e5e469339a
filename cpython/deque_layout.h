// collections.deque, whose type and layout CPython keeps to itself.
#pragma once

#include "core/ref.h"

namespace armature::cpython {

// collections.deque, and the types of its iterators: _collections._deque_iterator and
// _deque_reverse_iterator. Borrowed.
PyTypeObject* dequeType();
PyTypeObject* dequeIteratorType();
PyTypeObject* dequeReverseIteratorType();

// Is it a deque, or an instance of a subclass?
inline bool isDeque(BorrowedRef<> object) {
  return PyType_IsSubtype(Py_TYPE(object.get()), dequeType());
}

// len() of a deque, which counts in ob_size (Modules/_collectionsmodule.c, deque_len).
inline Py_ssize_t dequeLength(BorrowedRef<> deque) { return Py_SIZE(deque.get()); }
// The item at an index that is in range, borrowed.
PyObject* dequeItem(BorrowedRef<> deque, Py_ssize_t index);
// deque.maxlen, -1 for None.
Py_ssize_t dequeBound(BorrowedRef<> deque);

}  // namespace armature::cpython
