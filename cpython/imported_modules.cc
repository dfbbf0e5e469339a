#include "cpython/imported_modules.h"

#include "cpython/function_layout.h"

namespace armature::cpython {

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
