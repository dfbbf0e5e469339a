#include "variables/protocol/equality.h"

#include "core/constant.h"
#include "variables/constants/constant.h"
#include "variables/continuation.h"
#include "variables/objects/address.h"
#include "variables/objects/user_defined.h"
#include "variables/protocol/object_protocol.h"
#include "variables/tensors/tensor.h"

namespace armature {

namespace {

// May a comparison of the object with itself run code or say that they differ, so that the program
// sees whether it was made? (A builtin container compares its items by the same rule.)
bool identityMatters(const Value& value) {
  if (trackerOf<UserObjectVariable>(value)) return true;
  auto* tensor = trackerOf<TensorVariable>(value);
  return tensor && !tensor->library().isImmutable(tensor->type());
}

}  // namespace

int areEqual(Translator& translator, Value left, Value right) {
  Value equal = equality(translator, std::move(left), std::move(right), false);
  return equal ? equal.is(Py_True) : -1;
}

Value equality(Translator& translator, Value left, Value right, bool tail) {
  if (Value answer = compareAddresses(translator, left, right, Py_EQ)) return answer;
  Value first = left, second = right;
  translator.realize(left);
  translator.realize(right);
  if (left.isConstant() && right.isConstant()) {
    if (goesByIdentity(left.object()) && goesByIdentity(right.object())) {
      return Value::boolean(isSame(translator, first, second));
    }
    pinParts(translator, left.object(), right.object());
    int equal = PyObject_RichCompareBool(left.object(), right.object(), Py_EQ);
    if (equal < 0) translator.raiseFromPython();
    return equal < 0 ? Value() : Value::boolean(equal);
  }
  bool areSame = identityMatters(left) && identityMatters(right) ? isSame(translator, first, second)
                                                                 : left.sameAs(right);
  if (areSame) return Value::boolean(true);
  Value equal = richCompare(translator, std::move(left), std::move(right), Py_EQ, tail);
  return then(translator, std::move(equal), {OnReturn::Truth, {}}, tail);
}

bool hashValue(Translator& translator, Value value, Py_hash_t& result) {
  translator.realize(value);
  UnaryFunction function = slotsOf(value).tp_hash;
  if (!function) {
    // Of a type that the trace knows no hash of.
    if (cpython::fillsSlot(typeOf(value), cpython::SpecialSlot::Hash)) {
      throw GraphBreak(GraphBreakKind::UnknownHash, describe(value));
    }
    translator.raise(PyExc_TypeError, "unhashable type: '%.200s'", nameOf(translator, value));
    return false;
  }
  Value hash = function(translator, value);
  if (!hash) return false;
  result = PyLong_AsSsize_t(hash.object());
  return true;
}

}  // namespace armature
