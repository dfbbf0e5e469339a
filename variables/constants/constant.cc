#include "variables/constants/constant.h"

#include <llvm/ADT/DenseSet.h>

#include <cstring>

#include "cpython/set_entries.h"
#include "cpython/type_lookup.h"
#include "variables/containers/sequence.h"

namespace armature {

namespace {

llvm::DenseSet<PyTypeObject*>& libraryDataTypes() {
  static llvm::DenseSet<PyTypeObject*> types;
  return types;
}

// Exact types that are data whatever they hold.
bool isScalarData(PyTypeObject* type) {
  return type == &PyLong_Type || type == &PyFloat_Type || type == &PyUnicode_Type ||
         type == &PyBool_Type || type == Py_TYPE(Py_None) || type == &PyComplex_Type ||
         type == &PyBytes_Type;
}

bool isOtherData(PyTypeObject* type) {
  return type == &PyEllipsis_Type || type == Py_TYPE(Py_NotImplemented) || type == &PyRange_Type ||
         type == &PyCode_Type;
}

template <class Visit>
bool allItems(PyObject* tuple, Visit visit) {
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple); ++i) {
    if (!visit(PyTuple_GET_ITEM(tuple, i))) return false;
  }
  return true;
}

bool isCFunctionWithoutState(PyObject* object) {
  if (!PyCFunction_Check(object)) return false;
  PyObject* self = PyCFunction_GET_SELF(object);
  return !self || PyModule_Check(self) || PyType_Check(self);
}

}  // namespace

void registerDataType(PyTypeObject* type) { libraryDataTypes().insert(type); }

bool isData(PyObject* object) {
  PyTypeObject* type = Py_TYPE(object);
  if (isScalarData(type) || isOtherData(type)) return true;
  if (type == &PyTuple_Type) return allItems(object, isData);
  if (type == &PySlice_Type) {
    auto* slice = reinterpret_cast<PySliceObject*>(object);
    return isData(slice->start) && isData(slice->stop) && isData(slice->step);
  }
  if (type == &PyFrozenSet_Type) {
    for (cpython::SetEntry entry; cpython::nextEntry(object, entry);) {
      if (!isData(entry.element)) return false;
    }
    return true;
  }
  return libraryDataTypes().contains(type);
}

bool isConstantObject(PyObject* object) {
  if (isData(object)) return true;
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
  return std::strcmp(type->tp_name, "numpy.ufunc") == 0 ||
         std::strcmp(type->tp_name, "numpy._ArrayFunctionDispatcher") == 0;
}

bool isComparedByValue(PyObject* object) {
  PyTypeObject* type = Py_TYPE(object);
  if (isScalarData(type)) return object != Py_None && type != &PyBool_Type;
  if (type == &PyTuple_Type) {
    return allItems(object, [](PyObject* item) {
      return isScalarData(Py_TYPE(item)) || isComparedByValue(item);
    });
  }
  return false;
}

bool isConstantData(const Value& value) { return value.isConstant() && isData(value.object()); }

}  // namespace armature
