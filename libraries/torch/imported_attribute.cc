#include "libraries/torch/imported_attribute.h"

namespace armature {

BorrowedRef<> importedAttribute(const char* module, const char* name) {
  PyObject* imported = PyDict_GetItemString(PyImport_GetModuleDict(), module);
  if (!imported || !PyModule_Check(imported)) return nullptr;
  return PyDict_GetItemString(PyModule_GetDict(imported), name);
}

}  // namespace armature
