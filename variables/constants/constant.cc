#include "variables/constants/constant.h"

#include <llvm/ADT/DenseSet.h>

#include "cpython/type_lookup.h"
#include "variables/containers/sequence.h"

namespace armature {

namespace {

llvm::DenseSet<PyTypeObject*>& libraryFunctionTypes() {
  static llvm::DenseSet<PyTypeObject*> types;
  return types;
}

bool isCFunctionWithoutState(PyObject* object) {
  if (!PyCFunction_Check(object)) return false;
  PyObject* self = PyCFunction_GET_SELF(object);
  return !self || PyModule_Check(self) || PyType_Check(self);
}

}  // namespace

void registerFunctionType(PyTypeObject* type) { libraryFunctionTypes().insert(type); }

bool isConstantObject(PyObject* object) {
  if (isConstant(object)) return true;
  PyTypeObject* type = Py_TYPE(object);
  if (PyModule_CheckExact(object) || isCFunctionWithoutState(object)) return true;
  if (type == &PyMethodDescr_Type || type == &PyWrapperDescr_Type ||
      type == &PyClassMethodDescr_Type || type == &PyGetSetDescr_Type ||
      type == &PyMemberDescr_Type) {
    return true;
  }
  if (PyType_Check(object)) {
    return !cpython::isHeapType(reinterpret_cast<PyTypeObject*>(object));
  }
  return libraryFunctionTypes().contains(type);
}

bool isComposite(BorrowedRef<> constant) {
  PyObject* object = constant;
  if (PyTuple_Check(object)) return PyTuple_GET_SIZE(object) > 0;
  if (PyFrozenSet_CheckExact(object)) return PySet_GET_SIZE(object) > 0;
  return PySlice_Check(object) || PyRange_Check(object);
}

bool isKnownByValue(BorrowedRef<> constant) {
  static PyTypeObject* const types[] = {&PyLong_Type,    &PyFloat_Type,    &PyComplex_Type,
                                        &PyUnicode_Type, &PyBytes_Type,    &PyTuple_Type,
                                        &PyRange_Type,   &PyFrozenSet_Type};
  return llvm::is_contained(types, Py_TYPE(constant.get()));
}

bool isToldApart(BorrowedRef<> part, size_t count) {
  constexpr size_t kMost = 16;
  if (count > kMost || isSingleton(part)) return false;
  // Texts of code are one object wherever they stand.
  bool isOfCode = PyUnicode_CheckExact(part.get()) && PyUnicode_CHECK_INTERNED(part.get());
  return !isOfCode && isKnownByValue(part);
}

bool isSingleton(BorrowedRef<> object) {
  PyObject* constant = object;
  PyTypeObject* type = Py_TYPE(constant);
  if (type == &PyLong_Type) {
    int overflow = 0;
    long value = PyLong_AsLongAndOverflow(constant, &overflow);
    return !overflow && value >= -5 && value <= 256;
  }
  if (type == &PyUnicode_Type) {
    Py_ssize_t length = PyUnicode_GET_LENGTH(constant);
    return length == 0 || (length == 1 && PyUnicode_READ_CHAR(constant, 0) < 256);
  }
  if (type == &PyBytes_Type) return PyBytes_GET_SIZE(constant) <= 1;
  if (type == &PyTuple_Type) return PyTuple_GET_SIZE(constant) == 0;
  return type == &PyBool_Type || !isConstant(constant) || constant == Py_None;
}

// Composite constants among Values have been looked through when they were made.
bool isConstantData(const Value& value) {
  return value.isConstant() && isConstantType(Py_TYPE(value.object()));
}

}  // namespace armature
