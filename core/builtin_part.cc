#include "core/builtin_part.h"

#include "core/same_data.h"
#include "cpython/integers.h"
#include "cpython/type_lookup.h"

namespace armature {

PyTypeObject* dataLayout(PyTypeObject* type) {
  PyTypeObject* layout = cpython::staticBase(type);
  for (PyTypeObject* data :
       {&PyLong_Type, &PyFloat_Type, &PyComplex_Type, &PyUnicode_Type, &PyBytes_Type}) {
    if (layout == data) return data;
  }
  return nullptr;
}

Ref<> builtinPart(BorrowedRef<> object) {
  PyObject* o = object;
  if (PyLong_Check(o)) return cpython::exactInteger(o);
  if (PyFloat_Check(o)) return Ref<>::steal(PyFloat_FromDouble(PyFloat_AS_DOUBLE(o)));
  if (PyComplex_Check(o)) {
    return Ref<>::steal(PyComplex_FromCComplex(reinterpret_cast<PyComplexObject*>(o)->cval));
  }
  if (PyUnicode_Check(o)) return Ref<>::steal(PyUnicode_FromObject(o));
  return Ref<>::steal(PyBytes_FromStringAndSize(PyBytes_AS_STRING(o), PyBytes_GET_SIZE(o)));
}

bool equalsItself(BorrowedRef<> constant) { return !isNan(constant); }

bool hasBuiltinPart(BorrowedRef<> object, BorrowedRef<> constant) {
  PyObject *a = object, *b = constant;
  if (PyLong_Check(b)) return PyLong_Check(a) && cpython::sameInteger(a, b);
  if (PyFloat_Check(b)) return PyFloat_Check(a) && sameFloat(a, b);
  if (PyComplex_Check(b)) return PyComplex_Check(a) && sameComplex(a, b);
  if (PyUnicode_Check(b)) return PyUnicode_Check(a) && sameString(a, b);
  return PyBytes_Check(b) && PyBytes_Check(a) && sameBytes(a, b);
}

}  // namespace armature
