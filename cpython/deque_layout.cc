#include "cpython/deque_layout.h"

#include "cpython/imported_modules.h"

namespace armature::cpython {

namespace {

// Kept for the life of the process, as the module keeps it.
PyTypeObject* typeOfModule(const char* name) {
  Ref<> module = Ref<>::steal(importModule("_collections"));
  PyObject* type = module ? PyObject_GetAttrString(module.get(), name) : nullptr;
  if (!type) PyErr_Clear();
  return reinterpret_cast<PyTypeObject*>(type);
}

}  // namespace

PyTypeObject* dequeType() {
  static PyTypeObject* const type = typeOfModule("deque");
  return type;
}
PyTypeObject* dequeIteratorType() {
  static PyTypeObject* const type = typeOfModule("_deque_iterator");
  return type;
}
PyTypeObject* dequeReverseIteratorType() {
  static PyTypeObject* const type = typeOfModule("_deque_reverse_iterator");
  return type;
}

PyObject* dequeItem(BorrowedRef<> deque, Py_ssize_t index) {
  // The deque keeps the item.
  return Ref<>::steal(dequeType()->tp_as_sequence->sq_item(deque.get(), index)).get();
}

Py_ssize_t dequeBound(BorrowedRef<> deque) {
  static PyObject* const descriptor = PyDict_GetItemString(dequeType()->tp_dict, "maxlen");
  Ref<> bound = Ref<>::steal(Py_TYPE(descriptor)
                                 ->tp_descr_get(descriptor, deque.get(),
                                                reinterpret_cast<PyObject*>(Py_TYPE(deque.get()))));
  return bound.get() == Py_None ? -1 : PyLong_AsSsize_t(bound.get());
}

}  // namespace armature::cpython
