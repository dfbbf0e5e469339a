// str(), repr(), format(): PyObject_Str and its like.
#include <utility>

#include "core/checked.h"
#include "variables/constants/digit_limit.h"
#include "variables/containers/sequence.h"
#include "variables/continuation.h"
#include "variables/kind_slots.h"
#include "variables/objects/user_defined.h"
#include "variables/protocol/object_protocol.h"
#include "variables/recursion_guard.h"
#include "variables/tensors/tensor.h"

namespace armature {

Value checkText(Translator& translator, Value text, const char* message) {
  translator.realize(text);
  if (!PyType_IsSubtype(typeOf(text), &PyUnicode_Type)) {
    return translator.raise(PyExc_TypeError, message, nameOf(translator, text));
  }
  if (!text.isConstant()) throw GraphBreak(GraphBreakKind::SpecialMethodResult, describe(text));
  return text;
}

namespace {

Value callRepr(Translator& translator, const Value& value, bool tail) {
  UnaryFunction function = slotsOf(value).tp_repr;
  if (!function) throw GraphBreak(GraphBreakKind::TextOfObject, describe(value));
  return tail && function == kUserObjectSlots.tp_repr ? objectRepr(translator, value, tail)
                                                      : function(translator, value);
}

}  // namespace

Value toStr(Translator& translator, Value value, bool tail) {
  CountedCall counted(translator);
  RecursionGuard guard(translator);
  translator.realize(value);
  UnaryFunction function = slotsOf(value).tp_str;
  Value text;
  if (!function) {
    text = callRepr(translator, value, tail);
  } else if (tail && function == kUserObjectSlots.tp_str) {
    text = objectStr(translator, value, tail);
  } else {
    text = function(translator, value);
  }
  return then(translator, std::move(text), {OnReturn::CheckStr, {}});
}

Value toRepr(Translator& translator, Value value, bool tail) {
  CountedCall counted(translator);
  RecursionGuard guard(translator);
  translator.realize(value);
  return then(translator, callRepr(translator, value, tail), {OnReturn::CheckRepr, {}});
}

Value formatValue(Translator& translator, Value value, Value specification, bool tail) {
  RecursionGuard guard(translator);
  translator.realize(value);
  translator.realize(specification);
  bool plain = !specification ||
               (specification.isConstant() && PyUnicode_CheckExact(specification.object()) &&
                PyUnicode_GET_LENGTH(specification.object()) == 0);
  if (value.isConstant() && isConstantData(value) &&
      (!specification || specification.isConstant())) {
    return translator.fromPython(withinDigitLimit(value.object(), [&] {
      return PyObject_Format(value.object(), specification ? specification.object() : nullptr);
    }));
  }
  if (trackerOf<TensorVariable>(value)) {
    throw GraphBreak(GraphBreakKind::TextOfObject, describe(value));
  }
  // object.__format__ with an empty specification is str().
  static PyObject* const name = staticName("__format__");
  if (plain && translator.heap.inherits(typeOf(value), &PyBaseObject_Type, name)) {
    return toStr(translator, value, tail);
  }
  Value method = lookupSpecial(translator, value, name);
  if (!method) return method;
  Value text = call(translator, method, {specification ? specification : Value::string("")}, tail);
  return then(translator, std::move(text), {OnReturn::CheckFormat, {}});
}

}  // namespace armature
