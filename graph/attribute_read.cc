#include "graph/attribute_read.h"

namespace armature {

PyObject* getattrFunction() {
  static PyObject* const function = PyDict_GetItemString(PyEval_GetBuiltins(), "getattr");
  return function;
}

BorrowedRef<> attributeReadBy(const Node& node) {
  if (node.target.get() != getattrFunction() || node.arguments.size() != 2) return nullptr;
  BorrowedRef<> name = node.arguments[1].object();
  return name && PyUnicode_CheckExact(name.get()) ? name : nullptr;
}

}  // namespace armature
