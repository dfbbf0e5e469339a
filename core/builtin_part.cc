#include "core/builtin_part.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "cpython/integers.h"
#include "cpython/type_lookup.h"

namespace armature {

namespace {

bool sameBits(double a, double b) {
  return std::bit_cast<uint64_t>(a) == std::bit_cast<uint64_t>(b);
}

Py_complex complexOf(PyObject* object) { return reinterpret_cast<PyComplexObject*>(object)->cval; }

bool sameText(PyObject* a, PyObject* b) {
  if (PyUnicode_READY(a) < 0 || PyUnicode_READY(b) < 0) {
    PyErr_Clear();
    return false;
  }
  Py_ssize_t length = PyUnicode_GET_LENGTH(a);
  return length == PyUnicode_GET_LENGTH(b) && PyUnicode_KIND(a) == PyUnicode_KIND(b) &&
         std::memcmp(PyUnicode_DATA(a), PyUnicode_DATA(b),
                     static_cast<size_t>(length) * PyUnicode_KIND(a)) == 0;
}

}  // namespace

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
  if (PyComplex_Check(o)) return Ref<>::steal(PyComplex_FromCComplex(complexOf(o)));
  if (PyUnicode_Check(o)) return Ref<>::steal(PyUnicode_FromObject(o));
  return Ref<>::steal(PyBytes_FromStringAndSize(PyBytes_AS_STRING(o), PyBytes_GET_SIZE(o)));
}

bool equalsItself(BorrowedRef<> constant) {
  PyObject* o = constant;
  if (PyFloat_Check(o)) return !std::isnan(PyFloat_AS_DOUBLE(o));
  return !PyComplex_Check(o) || !(std::isnan(complexOf(o).real) || std::isnan(complexOf(o).imag));
}

bool hasBuiltinPart(BorrowedRef<> object, BorrowedRef<> constant) {
  PyObject *a = object, *b = constant;
  if (PyLong_Check(b)) return PyLong_Check(a) && cpython::sameInteger(a, b);
  if (PyFloat_Check(b)) {
    return PyFloat_Check(a) && sameBits(PyFloat_AS_DOUBLE(a), PyFloat_AS_DOUBLE(b));
  }
  if (PyComplex_Check(b)) {
    return PyComplex_Check(a) && sameBits(complexOf(a).real, complexOf(b).real) &&
           sameBits(complexOf(a).imag, complexOf(b).imag);
  }
  if (PyUnicode_Check(b)) return PyUnicode_Check(a) && sameText(a, b);
  return PyBytes_Check(b) && PyBytes_Check(a) && PyBytes_GET_SIZE(a) == PyBytes_GET_SIZE(b) &&
         std::memcmp(PyBytes_AS_STRING(a), PyBytes_AS_STRING(b),
                     static_cast<size_t>(PyBytes_GET_SIZE(a))) == 0;
}

}  // namespace armature
