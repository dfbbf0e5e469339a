#include "cpython/starred_arguments.h"

namespace armature::cpython {

Ref<> starredArguments(BorrowedRef<> callable, BorrowedRef<> arguments) {
  if (PyTuple_CheckExact(arguments.get())) return Ref<>::create(arguments);
  PyTypeObject* type = Py_TYPE(arguments.get());
  if (type->tp_iter || PySequence_Check(arguments.get())) {
    return Ref<>::steal(PySequence_Tuple(arguments.get()));
  }
  if (Ref<> name = Ref<>::steal(_PyObject_FunctionStr(callable.get()))) {
    PyErr_Format(PyExc_TypeError, "%U argument after * must be an iterable, not %.200s", name.get(),
                 type->tp_name);
  }
  return nullptr;
}

}  // namespace armature::cpython
