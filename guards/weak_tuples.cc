#include "guards/weak_tuples.h"

#include "core/checked.h"
#include "core/constant.h"

namespace armature {

bool isTupleOfObjects(BorrowedRef<> key) { return PyTuple_Check(key.get()) && !isConstant(key); }

WeakTuples::~WeakTuples() {
  // What these were may have been freed long ago.
  for (auto [tuple, index] : weakItems_) PyTuple_SET_ITEM(tuple, index, nullptr);
}

PyObject* WeakTuples::copy(BorrowedRef<> key, IdentityWatch& watch) {
  if (PyObject* known = copyOf(key)) return known;
  PyObject* made = make(key, watch).get();
  copies_.emplace_back(key.get(), made);
  return made;
}

PyObject* WeakTuples::copyOf(BorrowedRef<> key) const {
  for (auto [original, copy] : copies_) {
    if (original == key.get()) return copy;
  }
  return nullptr;
}

// Keys are nested as deep as hashWithoutCode() goes, at most.
Ref<> WeakTuples::make(BorrowedRef<> key, IdentityWatch& watch) {
  Py_ssize_t size = PyTuple_GET_SIZE(key.get());
  Ref<> tuple = checked(PyTuple_New(size));
  // The collector must not see what may be gone.
  PyObject_GC_UnTrack(tuple.get());
  for (Py_ssize_t i = 0; i < size; ++i) {
    PyObject* item = PyTuple_GET_ITEM(key.get(), i);
    if (isConstant(item)) {
      PyTuple_SET_ITEM(tuple.get(), i, Py_NewRef(item));
    } else if (isTupleOfObjects(item)) {
      PyTuple_SET_ITEM(tuple.get(), i, make(item, watch).release());
    } else {
      watch.watch(item);
      PyTuple_SET_ITEM(tuple.get(), i, item);
      weakItems_.emplace_back(tuple.get(), i);
    }
  }
  tuples_.push_back(tuple);
  return tuple;
}

}  // namespace armature
