#include "guards/weak_copies.h"

#include "core/checked.h"
#include "core/constant.h"
#include "cpython/member_descriptors.h"

namespace armature {

bool isTupleOfObjects(BorrowedRef<> key) { return PyTuple_Check(key.get()) && !isConstant(key); }

WeakCopies::~WeakCopies() {
  // What these were may have been freed long ago.
  for (auto [tuple, index] : weakItems_) PyTuple_SET_ITEM(tuple, index, nullptr);
  for (const Ref<>& descriptor : descriptors_) cpython::forgetClass(descriptor);
}

PyObject* WeakCopies::copy(BorrowedRef<> key, IdentityWatch& watch) {
  if (PyObject* known = copyOf(key)) return known;
  return make(key, watch).get();
}

PyObject* WeakCopies::copyOfDescriptor(BorrowedRef<> descriptor, IdentityWatch& watch) {
  if (PyObject* known = copyOf(descriptor)) return known;
  watch.watch(reinterpret_cast<PyObject*>(PyDescr_TYPE(descriptor.get())));
  // Every copy is to be in the list, where its class is forgotten.
  descriptors_.reserve(descriptors_.size() + 1);
  Ref<> copy = cpython::copyWithoutClass(descriptor);
  if (!copy) throw PendingPythonException();
  descriptors_.push_back(std::move(copy));
  return copies_[descriptor.get()] = descriptors_.back().get();
}

PyObject* WeakCopies::copyOf(BorrowedRef<> original) const {
  return copies_.lookup(original.get());
}

bool WeakCopies::isOriginalOf(BorrowedRef<> object, const PyObject* copy) const {
  auto known = originals_.find(copy);
  if (known == originals_.end()) return false;
  const Original& original = known->second;
  if (object.get() != original.address || Py_TYPE(object.get()) != original.type) return false;
  if (PyTuple_GET_SIZE(object.get()) != PyTuple_GET_SIZE(copy)) return false;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(copy); ++i) {
    PyObject* item = PyTuple_GET_ITEM(object.get(), i);
    PyObject* expected = PyTuple_GET_ITEM(copy, i);
    if (!sameConstant(expected, item) && !isOriginalOf(item, expected)) return false;
  }
  return true;
}

// Keys are nested as deep as hashWithoutCode() goes, at most.
Ref<> WeakCopies::make(BorrowedRef<> key, IdentityWatch& watch) {
  Py_ssize_t size = PyTuple_GET_SIZE(key.get());
  Ref<> tuple = checked(PyTuple_New(size));
  // The collector must not see what may be gone.
  PyObject_GC_UnTrack(tuple.get());
  for (Py_ssize_t i = 0; i < size; ++i) {
    PyObject* item = PyTuple_GET_ITEM(key.get(), i);
    if (isConstant(item)) {
      PyTuple_SET_ITEM(tuple.get(), i, Py_NewRef(item));
    } else if (isTupleOfObjects(item)) {
      PyTuple_SET_ITEM(tuple.get(), i, Py_NewRef(copy(item, watch)));
    } else {
      watch.watch(item);
      PyTuple_SET_ITEM(tuple.get(), i, item);
      weakItems_.emplace_back(tuple.get(), i);
    }
  }
  auto* type = reinterpret_cast<PyObject*>(Py_TYPE(key.get()));
  watch.watch(type);
  tuples_.push_back(tuple);
  copies_[key.get()] = tuple.get();
  originals_[tuple.get()] = {key.get(), Py_TYPE(key.get())};
  return tuple;
}

}  // namespace armature
