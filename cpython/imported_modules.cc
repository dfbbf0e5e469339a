#include "cpython/imported_modules.h"

#include "cpython/function_layout.h"

namespace armature::cpython {

PyObject* importModule(const char* module) {
  // With a list of names, of which it has all, the module itself and not its package is given.
  static PyObject* const names = Py_BuildValue("(s)", "__doc__");
  if (!names) return nullptr;
  Ref<> found = Ref<>::steal(PyImport_ImportModuleLevel(module, nullptr, nullptr, names, 0));
  if (!found || PyModule_Check(found.get())) return found.release();
  PyErr_Format(PyExc_ImportError, "sys.modules['%s'] is no module", module);
  return nullptr;
}

BorrowedRef<> importedModule(const char* module) {
  PyObject* found = PyDict_GetItemString(PyImport_GetModuleDict(), module);
  return found && PyModule_Check(found) ? found : nullptr;
}

BorrowedRef<> importedVariables(const char* module) {
  BorrowedRef<> found = importedModule(module);
  return found ? PyModule_GetDict(found.get()) : nullptr;
}

BorrowedRef<> importedAttribute(const char* module, const char* name) {
  BorrowedRef<> variables = importedVariables(module);
  return variables ? PyDict_GetItemString(variables.get(), name) : nullptr;
}

bool isFunctionOf(BorrowedRef<> object, const char* module) {
  BorrowedRef<> variables = importedVariables(module);
  return object && PyFunction_Check(object.get()) && variables &&
         read(object, FunctionField::Globals) == variables.get();
}

}  // namespace armature::cpython
