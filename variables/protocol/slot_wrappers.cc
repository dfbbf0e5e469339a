#include "variables/protocol/slot_wrappers.h"

#include "cpython/type_lookup.h"
#include "variables/containers/deque.h"
#include "variables/containers/dict.h"
#include "variables/functions/builtin_handlers.h"
#include "variables/objects/user_defined.h"
#include "variables/protocol/equality.h"
#include "variables/protocol/indexing.h"
#include "variables/protocol/object_protocol.h"

namespace armature {

namespace {

// The errors of a wrong call differ between slot wrappers and methods: Python raises them.
void requireArguments(const Value& self, const CallArguments& arguments, size_t count) {
  if (!arguments.keywordCount() && arguments.values.size() == count) return;
  throw GraphBreak(GraphBreakKind::SpecialMethodArguments, describe(self));
}

Value none(bool ok) { return ok ? Value::none() : Value(); }

Value len(Translator& translator, const Value& self, CallArguments& arguments) {
  requireArguments(self, arguments, 0);
  int64_t size = length(translator, self);
  return size < 0 ? Value() : Value::integer(size);
}

// getindex of typeobject.c, by which a method asks a slot for sequences: that of deque. Others have
// slots for mappings.
bool checkIndex(Translator& translator, const Value& self, const Value& key) {
  if (!partOf<DequeVariable>(self) || hasIndex(translator, translator.realized(key))) return true;
  translator.raise(PyExc_TypeError, "'%.200s' object cannot be interpreted as an integer",
                   nameOf(translator, translator.realized(key)));
  return false;
}

Value getitem(Translator& translator, const Value& self, CallArguments& arguments) {
  requireArguments(self, arguments, 1);
  if (!checkIndex(translator, self, arguments.values[0])) return Value();
  return getItem(translator, self, arguments.values[0]);
}

Value setitem(Translator& translator, const Value& self, CallArguments& arguments) {
  requireArguments(self, arguments, 2);
  if (!checkIndex(translator, self, arguments.values[0])) return Value();
  return none(setItem(translator, self, arguments.values[0], arguments.values[1]));
}

Value delitem(Translator& translator, const Value& self, CallArguments& arguments) {
  requireArguments(self, arguments, 1);
  if (!checkIndex(translator, self, arguments.values[0])) return Value();
  return none(deleteItem(translator, self, arguments.values[0]));
}

Value containsItem(Translator& translator, const Value& self, CallArguments& arguments) {
  requireArguments(self, arguments, 1);
  int found = contains(translator, self, arguments.values[0]);
  return found < 0 ? Value() : Value::boolean(found);
}

Value iter(Translator& translator, const Value& self, CallArguments& arguments) {
  requireArguments(self, arguments, 0);
  return getIterator(translator, self);
}

Value next(Translator& translator, const Value& self, CallArguments& arguments) {
  requireArguments(self, arguments, 0);
  Value item = iteratorNext(translator, self);
  return item ? item : raiseStopIteration(translator, self);
}

Value repr(Translator& translator, const Value& self, CallArguments& arguments) {
  requireArguments(self, arguments, 0);
  return toRepr(translator, self);
}

Value hash(Translator& translator, const Value& self, CallArguments& arguments) {
  requireArguments(self, arguments, 0);
  Py_hash_t result;
  return hashValue(translator, self, result) ? Value::integer(result) : Value();
}

// One slot only, without the other operand's reflected one: NotImplemented is a result. But a slot
// says it, too, of an operand that the trace does not look into.
Value slotResult(const Value& self, const Value& other, Value result) {
  auto* object = trackerOf<UserObjectVariable>(other);
  bool isUnknown = trackerOf<OpaqueVariable>(other) || (object && object->container);
  if (isUnknown && result.is(Py_NotImplemented)) {
    throw GraphBreak(GraphBreakKind::UnsupportedOperation, describe(self));
  }
  return result;
}

// The slots of constants do the whole operation where both operands are some.
void requireTraced(const Value& self, const Value& other) {
  if (self.isConstant() && other.isConstant()) {
    throw GraphBreak(GraphBreakKind::UnsupportedOperation, describe(self));
  }
}

template <int op>
Value compare(Translator& translator, const Value& self, CallArguments& arguments) {
  requireArguments(self, arguments, 1);
  CompareFunction function = slotsOf(self).tp_richcompare;
  if (!function) return unimplemented::compare(translator, self, self, op);
  Value other = translator.realized(arguments.values[0]);
  requireTraced(self, other);
  return slotResult(self, other, function(translator, self, other, op));
}

// The slots of constants leave what is none to the slots of the other operand.
Value settled(const Value& self, Value result) {
  if (self.isConstant() && result.is(Py_NotImplemented)) {
    throw GraphBreak(GraphBreakKind::UnsupportedOperation, describe(self));
  }
  return result;
}

template <NumberSlot slot, bool reflected>
Value binary(Translator& translator, const Value& self, CallArguments& arguments) {
  requireArguments(self, arguments, 1);
  Value other = translator.realized(arguments.values[0]);
  requireTraced(self, other);
  NumberSlot plain = slot >= nb_inplace_add ? static_cast<NumberSlot>(slot - nb_inplace_add) : slot;
  auto fills = [&](cpython::SpecialSlot special) {
    return cpython::fillsSlot(typeOf(self), special);
  };
  if (plain == nb_multiply && fills(cpython::SpecialSlot::Repeat) && !hasIndex(translator, other)) {
    return translator.raise(PyExc_TypeError, "'%.200s' object cannot be interpreted as an integer",
                            nameOf(translator, other));
  }
  // Of a sequence it raises the sequence's own TypeError.
  if (self.isConstant() && plain == nb_add && fills(cpython::SpecialSlot::Concat)) {
    throw GraphBreak(GraphBreakKind::UnsupportedOperation, describe(self));
  }
  const TypeSlots& slots = slotsOf(self);
  // Tuples with named fields have the operators of their class in the slots of numbers: what is
  // called here is tuple's own method.
  BinaryFunction function = trackerOf<NamedTupleVariable>(self) ? nullptr : slots.nb[slot];
  if (function) {
    // The union of dicts knows the special kinds' own __or__ and __ror__, as `|` asks for them.
    auto isPlain = [](const Value& value) {
      auto* dict = trackerOf<DictVariable>(value);
      return !dict || dict->type() == &PyDict_Type;
    };
    if (slot == nb_or && !(isPlain(self) && isPlain(other))) {
      throw GraphBreak(GraphBreakKind::UnsupportedOperation, describe(self));
    }
    return settled(self, slotResult(self, other,
                                    reflected ? function(translator, slot, other, self)
                                              : function(translator, slot, self, other)));
  }
  // Sequences have these under other slots.
  if (plain == nb_add && slots.sq_concat) return slots.sq_concat(translator, slot, self, other);
  if (plain == nb_multiply && slots.sq_repeat)
    return slots.sq_repeat(translator, slot, self, other);
  return settled(self, unimplemented::binary(translator, slot, self, other));
}

struct SpecialMethod {
  const char* name;
  BuiltinHandler handler;
};

constexpr SpecialMethod kSpecialMethods[] = {
    {"__len__", len},
    {"__getitem__", getitem},
    {"__setitem__", setitem},
    {"__delitem__", delitem},
    {"__contains__", containsItem},
    {"__iter__", iter},
    {"__next__", next},
    {"__repr__", repr},
    {"__hash__", hash},
    {"__lt__", compare<Py_LT>},
    {"__le__", compare<Py_LE>},
    {"__eq__", compare<Py_EQ>},
    {"__ne__", compare<Py_NE>},
    {"__gt__", compare<Py_GT>},
    {"__ge__", compare<Py_GE>},
    {"__add__", binary<nb_add, false>},
    {"__mul__", binary<nb_multiply, false>},
    {"__rmul__", binary<nb_multiply, true>},
    {"__or__", binary<nb_or, false>},
    {"__ror__", binary<nb_or, true>},
    {"__and__", binary<nb_and, false>},
    {"__rand__", binary<nb_and, true>},
    {"__sub__", binary<nb_subtract, false>},
    {"__rsub__", binary<nb_subtract, true>},
    {"__xor__", binary<nb_xor, false>},
    {"__rxor__", binary<nb_xor, true>},
    {"__iadd__", binary<nb_inplace_add, false>},
    {"__imul__", binary<nb_inplace_multiply, false>},
    {"__ior__", binary<nb_inplace_or, false>},
    {"__iand__", binary<nb_inplace_and, false>},
    {"__isub__", binary<nb_inplace_subtract, false>},
    {"__ixor__", binary<nb_inplace_xor, false>},
};

}  // namespace

void registerSlotWrappers(PyTypeObject* type) {
  for (const SpecialMethod& method : kSpecialMethods) {
    PyObject* found = cpython::ownAttribute(type, method.name);
    if (found && found != Py_None) {
      registerMethodHandler(type, method.name, method.handler);
    }
  }
}

}  // namespace armature
