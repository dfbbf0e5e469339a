// The slots of set and frozenset.
#include "core/checked.h"
#include "variables/containers/iterators.h"
#include "variables/containers/set_operations.h"
#include "variables/kind_slots.h"
#include "variables/objects/user_defined.h"
#include "variables/protocol/object_protocol.h"
#include "variables/protocol/repr_recursion.h"

namespace armature {

namespace {

SetVariable* setOf(const Value& value) { return requireKind<SetVariable>(value); }

Value inPlace(Translator& translator, NumberSlot slot, SetVariable* set, const Value& operand) {
  bool ok = false;
  switch (slot) {
    case nb_inplace_or:
      ok = updateSet(translator, set, operand);
      break;
    case nb_inplace_and:
      ok = intersectSet(translator, set, operand);
      break;
    case nb_inplace_subtract:
      ok = subtractFromSet(translator, set, operand);
      break;
    default:
      ok = symmetricDifferenceUpdate(translator, set, operand);
      break;
  }
  return ok ? Value(set) : Value();
}

Value binary(Translator& translator, NumberSlot slot, const Value& left, const Value& right) {
  if (!isAnySet(left) || !isAnySet(right)) return Value::constant(Py_NotImplemented);
  bool frozen = isFrozenSet(left);
  if (slot >= nb_inplace_add) {
    return frozen ? Value::constant(Py_NotImplemented)
                  : inPlace(translator, slot, setOf(left), right);
  }
  SetOperand operand;
  if (left.isConstant() && !readSetOperand(translator, right, operand)) return Value();
  if (operand.real) {
    static constexpr std::pair<NumberSlot, binaryfunc> kOperations[] = {
        {nb_or, PyNumber_Or},
        {nb_and, PyNumber_And},
        {nb_subtract, PyNumber_Subtract},
        {nb_xor, PyNumber_Xor}};
    for (auto [each, operation] : kOperations) {
      if (each == slot) return translator.fromPython(operation(left.object(), operand.real.get()));
    }
  }
  PyTypeObject* type = resultType(left);
  SetVariable* self = toSet(translator, left);
  if (!self) return Value();
  SetVariable* result = nullptr;
  switch (slot) {
    case nb_or:
      result = copySet(translator, type, left);
      if (!result || !updateSet(translator, result, right)) return Value();
      break;
    case nb_and:
      result = intersection(translator, type, self, right);
      break;
    case nb_subtract:
      result = difference(translator, type, self, right);
      break;
    default:
      result = symmetricDifference(translator, type, self, right);
      break;
  }
  return result ? setResult(translator, result) : Value();
}

Value compare(Translator& translator, const Value& left, const Value& right, int op) {
  if (!isAnySet(right)) return Value::constant(Py_NotImplemented);
  SetVariable* a = setOf(left);
  SetVariable* b = toSet(translator, right);
  size_t own = a->size(translator), others = b->size(translator);
  // a <= b asks whether b has all of a.
  auto within = [&](SetVariable* small, SetVariable* large) -> Value {
    int result = containsAll(translator, large, small);
    return result < 0 ? Value() : Value::boolean(result);
  };
  switch (op) {
    case Py_EQ:
      return own == others ? within(a, b) : Value::boolean(false);
    case Py_NE: {
      if (own != others) return Value::boolean(true);
      Value equal = within(a, b);
      return equal ? Value::boolean(equal.is(Py_False)) : equal;
    }
    case Py_LE:
      return own <= others ? within(a, b) : Value::boolean(false);
    case Py_GE:
      return others <= own ? within(b, a) : Value::boolean(false);
    case Py_LT:
      return own < others ? within(a, b) : Value::boolean(false);
    default:
      return others < own ? within(b, a) : Value::boolean(false);
  }
}

Value length(Translator& translator, const Value& self) {
  return Value::integer(static_cast<int64_t>(setOf(self)->size(translator)));
}

Value contains(Translator& translator, const Value& self, const Value& item) {
  bool found = setOf(self)->contains(translator, keyInSet(translator, item));
  return translator.exceptionPending() ? Value() : Value::boolean(found);
}

Value iterate(Translator& translator, const Value& self) {
  SetVariable* set = setOf(self);
  ValueVector order;
  if (!set->inOrder(translator, order)) {
    throw GraphBreak(GraphBreakKind::SetOrder, describe(self));
  }
  return translator.make<DictIteratorVariable>(&PySetIter_Type, set, DictViewKind::Keys,
                                               order.size(), std::move(order));
}

// {a, b}, or that with the name of the type around it.
Value repr(Translator& translator, const Value& self) {
  const char* type = nameOf(translator, self);
  bool isBare = typeOf(self) == &PySet_Type;
  auto text = [&](PyObject* result) { return translator.fromPython(result); };
  if (setOf(self)->size(translator) == 0) return text(PyUnicode_FromFormat("%s()", type));
  ReprRecursion recursion(self);
  if (recursion.entered()) return text(PyUnicode_FromFormat("%s(...)", type));
  // As list() takes them: a subclass may have an iterator of its own.
  ValueVector items;
  if (!collectInto(translator, wholeOf(self), items)) return Value();
  Ref<> joined = checked(PyUnicode_FromString(""));
  const char* separator = "";
  for (const Value& item : items) {
    Value itemText = toRepr(translator, item);
    if (!itemText) return itemText;
    joined = checked(PyUnicode_FromFormat("%U%s%U", joined.get(), separator, itemText.object()));
    separator = ", ";
  }
  return text(isBare ? PyUnicode_FromFormat("{%U}", joined.get())
                     : PyUnicode_FromFormat("%s({%U})", type, joined.get()));
}

Value hash(Translator& translator, const Value& self) {
  if (!isFrozenSet(self)) {
    return translator.raise(PyExc_TypeError, "unhashable type: '%.200s'", nameOf(translator, self));
  }
  throw GraphBreak(GraphBreakKind::HashOfAddress, describe(self));
}

TypeSlots makeSetSlots() {
  TypeSlots slots;
  for (NumberSlot slot : {nb_or, nb_and, nb_subtract, nb_xor, nb_inplace_or, nb_inplace_and,
                          nb_inplace_subtract, nb_inplace_xor}) {
    slots.nb[slot] = binary;
  }
  slots.mp_length = length;
  slots.sq_contains = contains;
  slots.tp_iter = iterate;
  slots.tp_hash = hash;
  slots.tp_richcompare = compare;
  slots.tp_repr = repr;
  return slots;
}

}  // namespace

const TypeSlots kSetSlots = makeSetSlots();

}  // namespace armature
