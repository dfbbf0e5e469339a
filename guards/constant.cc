#include "guards/constant.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "cpython/integers.h"
#include "cpython/set_entries.h"

namespace armature {
namespace {

bool allConstants(BorrowedRef<> frozenset) {
  for (cpython::SetEntry entry; cpython::nextEntry(frozenset, entry);)
    if (!isConstant(entry.element)) return false;
  return true;
}

bool sameDouble(double a, double b) {
  return std::bit_cast<uint64_t>(a) == std::bit_cast<uint64_t>(b) ||
         (std::isnan(a) && std::isnan(b));
}

bool sameString(BorrowedRef<> a, BorrowedRef<> b) {
  if (PyUnicode_READY(a.get()) < 0 || PyUnicode_READY(b.get()) < 0) {
    PyErr_Clear();
    return false;
  }
  Py_ssize_t length = PyUnicode_GET_LENGTH(a.get());
  return length == PyUnicode_GET_LENGTH(b.get()) &&
         PyUnicode_KIND(a.get()) == PyUnicode_KIND(b.get()) &&
         std::memcmp(PyUnicode_DATA(a.get()), PyUnicode_DATA(b.get()),
                     static_cast<size_t>(length) * PyUnicode_KIND(a.get())) == 0;
}

bool sameBytes(BorrowedRef<> a, BorrowedRef<> b) {
  Py_ssize_t size = PyBytes_GET_SIZE(a.get());
  return size == PyBytes_GET_SIZE(b.get()) &&
         std::memcmp(PyBytes_AS_STRING(a.get()), PyBytes_AS_STRING(b.get()),
                     static_cast<size_t>(size)) == 0;
}

bool sameTuple(BorrowedRef<> a, BorrowedRef<> b) {
  Py_ssize_t size = PyTuple_GET_SIZE(a.get());
  if (size != PyTuple_GET_SIZE(b.get())) return false;
  for (Py_ssize_t i = 0; i < size; ++i)
    if (!sameConstant(PyTuple_GET_ITEM(a.get(), i), PyTuple_GET_ITEM(b.get(), i))) return false;
  return true;
}

// A set has at most one of the elements that Python finds equal, so each of a's must have its like
// in b.
bool sameFrozenset(BorrowedRef<> a, BorrowedRef<> b) {
  if (PySet_GET_SIZE(a.get()) != PySet_GET_SIZE(b.get())) return false;
  auto equal = [](BorrowedRef<> stored, BorrowedRef<> key) {
    return sameConstant(stored, key) ? cpython::Presence::Present : cpython::Presence::Absent;
  };
  for (cpython::SetEntry entry; cpython::nextEntry(a, entry);)
    if (cpython::contains(b, entry.element, entry.hash, equal) != cpython::Presence::Present)
      return false;
  return true;
}

bool sameSlice(BorrowedRef<> a, BorrowedRef<> b) {
  auto* x = reinterpret_cast<PySliceObject*>(a.get());
  auto* y = reinterpret_cast<PySliceObject*>(b.get());
  return sameConstant(x->start, y->start) && sameConstant(x->stop, y->stop) &&
         sameConstant(x->step, y->step);
}

bool sameRange(BorrowedRef<> a, BorrowedRef<> b) {
  const cpython::RangeFields &x = cpython::rangeFields(a), &y = cpython::rangeFields(b);
  return sameConstant(x.start, y.start) && sameConstant(x.stop, y.stop) &&
         sameConstant(x.step, y.step);
}

}  // namespace

bool isConstant(BorrowedRef<> object) {
  PyObject* o = object;
  if (o == Py_None || o == Py_Ellipsis || o == Py_NotImplemented || PyBool_Check(o) ||
      PyLong_CheckExact(o) || PyFloat_CheckExact(o) || PyComplex_CheckExact(o) ||
      PyUnicode_CheckExact(o) || PyBytes_CheckExact(o) || PyRange_Check(o))
    return true;
  if (PyTuple_CheckExact(o)) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(o); ++i)
      if (!isConstant(PyTuple_GET_ITEM(o, i))) return false;
    return true;
  }
  if (PyFrozenSet_CheckExact(o)) return allConstants(o);
  if (PySlice_Check(o)) {
    auto* slice = reinterpret_cast<PySliceObject*>(o);
    return isConstant(slice->start) && isConstant(slice->stop) && isConstant(slice->step);
  }
  return false;
}

bool sameConstant(BorrowedRef<> a, BorrowedRef<> b) {
  if (a.get() == b.get()) return true;
  PyTypeObject* type = Py_TYPE(a.get());
  if (type != Py_TYPE(b.get())) return false;
  if (type == &PyLong_Type) return cpython::sameInteger(a, b);
  if (type == &PyUnicode_Type) return sameString(a, b);
  if (type == &PyFloat_Type)
    return sameDouble(PyFloat_AS_DOUBLE(a.get()), PyFloat_AS_DOUBLE(b.get()));
  if (type == &PyTuple_Type) return sameTuple(a, b);
  if (type == &PyBytes_Type) return sameBytes(a, b);
  if (type == &PyComplex_Type) {
    Py_complex x = reinterpret_cast<PyComplexObject*>(a.get())->cval;
    Py_complex y = reinterpret_cast<PyComplexObject*>(b.get())->cval;
    return sameDouble(x.real, y.real) && sameDouble(x.imag, y.imag);
  }
  if (type == &PyFrozenSet_Type) return sameFrozenset(a, b);
  if (type == &PySlice_Type) return sameSlice(a, b);
  if (type == &PyRange_Type) return sameRange(a, b);
  return false;
}

}  // namespace armature
