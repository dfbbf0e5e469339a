#include "cpython/integers.h"

#include <cstdint>
#include <cstring>

namespace armature::cpython {

bool sameInteger(BorrowedRef<> a, BorrowedRef<> b) {
  auto* x = reinterpret_cast<PyLongObject*>(a.get());
  auto* y = reinterpret_cast<PyLongObject*>(b.get());
#if PY_VERSION_HEX < 0x030C0000
  Py_ssize_t size = Py_SIZE(x);  // negative for negative numbers
  if (size != Py_SIZE(y)) return false;
  size_t digits = static_cast<size_t>(size < 0 ? -size : size);
  return std::memcmp(x->ob_digit, y->ob_digit, digits * sizeof(digit)) == 0;
#else
  uintptr_t tag = x->long_value.lv_tag;  // sign and number of digits
  if (tag != y->long_value.lv_tag) return false;
  size_t digits = tag >> 3;
  return std::memcmp(x->long_value.ob_digit, y->long_value.ob_digit, digits * sizeof(digit)) == 0;
#endif
}

Ref<> exactInteger(BorrowedRef<> integer) {
  return Ref<>::steal(_PyLong_Copy(reinterpret_cast<PyLongObject*>(integer.get())));
}

size_t bitLength(BorrowedRef<> integer) {
  const size_t bits = _PyLong_NumBits(integer);
  if (bits == SIZE_MAX) PyErr_Clear();  // OverflowError
  return bits;
}

bool isBelow60Bits(BorrowedRef<> integer) {
  static_assert(PyLong_SHIFT == 30);
#if PY_VERSION_HEX < 0x030C0000
  Py_ssize_t digits = Py_SIZE(integer.get());
  return digits >= -2 && digits <= 2;
#else
  return reinterpret_cast<PyLongObject*>(integer.get())->long_value.lv_tag >> 3 <= 2;
#endif
}

int asInt(BorrowedRef<> object) { return _PyLong_AsInt(object); }

namespace {

// Objects/rangeobject.c keeps it to itself.
struct RangeObject {
  PyObject_HEAD RangeFields fields;
};

}  // namespace

const RangeFields& rangeFields(BorrowedRef<> range) {
  return reinterpret_cast<RangeObject*>(range.get())->fields;
}

}  // namespace armature::cpython
