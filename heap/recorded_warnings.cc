#include "heap/recorded_warnings.h"

#include "core/checked.h"
#include "core/pending_python_exception.h"
#include "cpython/imported_modules.h"

namespace armature {

BorrowedRef<> namesOfWarnings() {
  static PyObject* const names = [] {
    Ref<> module = checked(cpython::importModule("warnings"));
    return Py_NewRef(PyModule_GetDict(module.get()));
  }();
  return names;
}

BorrowedRef<> listOfWarnings() {
  static PyObject* const name = staticName("_showwarnmsg_impl");
  PyObject* show = PyDict_GetItemWithError(namesOfWarnings(), name);
  if (!show) clearException();
  PyObject* self = show && PyCFunction_Check(show) ? PyCFunction_GET_SELF(show) : nullptr;
  return self && PyList_CheckExact(self) ? self : nullptr;
}

}  // namespace armature
