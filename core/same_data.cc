#include "core/same_data.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "core/pending_python_exception.h"

namespace armature {

namespace {

bool sameBits(double a, double b) {
  return std::bit_cast<uint64_t>(a) == std::bit_cast<uint64_t>(b);
}

// Without PyComplex_AsCComplex, which asks a subclass's __complex__.
Py_complex complexOf(PyObject* object) { return reinterpret_cast<PyComplexObject*>(object)->cval; }

}  // namespace

bool sameFloat(PyObject* a, PyObject* b) {
  return sameBits(PyFloat_AS_DOUBLE(a), PyFloat_AS_DOUBLE(b));
}

bool sameComplex(PyObject* a, PyObject* b) {
  Py_complex x = complexOf(a), y = complexOf(b);
  return sameBits(x.real, y.real) && sameBits(x.imag, y.imag);
}

bool sameString(PyObject* a, PyObject* b) {
  if (PyUnicode_READY(a) < 0 || PyUnicode_READY(b) < 0) {
    clearException();
    return false;
  }
  Py_ssize_t length = PyUnicode_GET_LENGTH(a);
  return length == PyUnicode_GET_LENGTH(b) && PyUnicode_KIND(a) == PyUnicode_KIND(b) &&
         std::memcmp(PyUnicode_DATA(a), PyUnicode_DATA(b),
                     static_cast<size_t>(length) * PyUnicode_KIND(a)) == 0;
}

bool sameBytes(PyObject* a, PyObject* b) {
  Py_ssize_t size = PyBytes_GET_SIZE(a);
  return size == PyBytes_GET_SIZE(b) &&
         std::memcmp(PyBytes_AS_STRING(a), PyBytes_AS_STRING(b), static_cast<size_t>(size)) == 0;
}

bool isNan(PyObject* object) {
  if (PyFloat_Check(object)) return std::isnan(PyFloat_AS_DOUBLE(object));
  if (!PyComplex_Check(object)) return false;
  Py_complex value = complexOf(object);
  return std::isnan(value.real) || std::isnan(value.imag);
}

}  // namespace armature
