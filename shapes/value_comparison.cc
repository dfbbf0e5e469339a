#include "shapes/value_comparison.h"

#include "core/pending_python_exception.h"

namespace armature {

namespace {

bool isNumber(BorrowedRef<> value) {
  return PyLong_CheckExact(value.get()) || PyFloat_CheckExact(value.get());
}

}  // namespace

bool areComparableValues(BorrowedRef<> left, BorrowedRef<> right) {
  return isNumber(left) ? isNumber(right)
                        : PyUnicode_CheckExact(left.get()) && PyUnicode_CheckExact(right.get());
}

int compareValues(BorrowedRef<> left, int relation, BorrowedRef<> right) {
  if (!areComparableValues(left, right)) return -1;
  Ref<> outcome = Ref<>::steal(PyObject_RichCompare(left, right, relation));
  if (!outcome) clearException();
  return outcome ? outcome.get() == Py_True : -1;
}

}  // namespace armature
