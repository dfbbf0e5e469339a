#include "variables/protocol/equality.h"

#include "variables/protocol/object_protocol.h"

namespace armature {

int areEqual(Translator& translator, Value left, Value right) {
  translator.realize(left);
  translator.realize(right);
  if (left.sameAs(right)) return 1;
  if (left.isConstant() && right.isConstant()) {
    int equal = PyObject_RichCompareBool(left.object(), right.object(), Py_EQ);
    if (equal < 0) translator.raiseFromPython();
    return equal;
  }
  Value equal = richCompare(translator, std::move(left), std::move(right), Py_EQ);
  return equal ? isTrue(translator, std::move(equal)) : -1;
}

bool hashValue(Translator& translator, Value value, Py_hash_t& result) {
  translator.realize(value);
  UnaryFunction function = slotsOf(value).tp_hash;
  if (!function) {
    translator.raise(PyExc_TypeError, "unhashable type: '%.200s'", typeOf(value)->tp_name);
    return false;
  }
  Value hash = function(translator, value);
  if (!hash) return false;
  result = PyLong_AsSsize_t(hash.object());
  return true;
}

// The xxHash scheme of CPython's tuples, for 64-bit words.
void TupleHash::add(Py_hash_t item) {
  static_assert(sizeof(Py_uhash_t) == 8);
  accumulator_ += static_cast<Py_uhash_t>(item) * 14029467366897019727u;
  accumulator_ = accumulator_ << 31 | accumulator_ >> 33;
  accumulator_ *= 11400714785074694791u;
  ++count_;
}

Py_hash_t TupleHash::finish() const {
  Py_uhash_t result = accumulator_ + (count_ ^ (2870177450012600261u ^ 3527539u));
  return result == static_cast<Py_uhash_t>(-1) ? 1546275796 : static_cast<Py_hash_t>(result);
}

}  // namespace armature
