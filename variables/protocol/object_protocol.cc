#include "variables/protocol/object_protocol.h"

#include "core/checked.h"
#include "core/constant.h"
#include "core/describe.h"
#include "core/text.h"
#include "variables/constants/computed_values.h"
#include "variables/constants/sym_node_variable.h"
#include "variables/containers/dict.h"
#include "variables/containers/sequence.h"
#include "variables/containers/sequence_slots.h"
#include "variables/containers/set.h"
#include "variables/continuation.h"
#include "variables/functions/builtin_handlers.h"
#include "variables/functions/functions.h"
#include "variables/functions/logging_functions.h"
#include "variables/functions/stand_ins.h"
#include "variables/kind_slots.h"
#include "variables/lazy.h"
#include "variables/loops.h"
#include "variables/objects/address.h"
#include "variables/objects/exception.h"
#include "variables/objects/user_defined.h"
#include "variables/protocol/equality.h"
#include "variables/protocol/indexing.h"
#include "variables/protocol/operator_methods.h"
#include "variables/recursion_guard.h"
#include "variables/tensors/tensor.h"

namespace armature {

const TypeSlots& slotsOf(const Value& value) {
  return value.isConstant() ? kConstantSlots : value.tracker()->slots();
}

PyTypeObject* typeOf(const Value& value) {
  return value.isConstant() ? Py_TYPE(value.object()) : value.tracker()->type();
}

const char* nameOf(Translator& translator, PyTypeObject* type) {
  return translator.heap.nameInTexts(type);
}

const char* nameOf(Translator& translator, const Value& value) {
  if (trackerOf<OpaqueVariable>(value)) {
    throw GraphBreak(GraphBreakKind::UnsupportedOperation, describe(value));
  }
  return nameOf(translator, typeOf(value));
}

std::string describe(const Value& value) {
  if (value.isNull()) return "NULL";
  if (PyObject* object = value.objectOrNull()) {
    return std::string(Py_TYPE(object)->tp_name) + " " + describe(BorrowedRef<>(object));
  }
  const VariableTracker* tracker = value.tracker();
  std::string text = variableKindName(tracker->kind());
  text += "(";
  text += tracker->type()->tp_name;
  if (tracker->source()) text += ", " + tracker->source()->name();
  return text + ")";
}

// --- Unary and binary operators.

namespace {

constexpr const char* kUnarySymbols[] = {"-", "+", "~", "abs()"};

bool isNotImplemented(const Value& value) { return value.is(Py_NotImplemented); }

NumberSlot plainSlot(NumberSlot slot) {
  return slot >= nb_inplace_add ? static_cast<NumberSlot>(slot - nb_inplace_add) : slot;
}

// binary_op1: the left operand's slot, then the right one's; the right one first where its type is
// a proper subtype that has a slot of its own.
Value tryBinary(Translator& translator, NumberSlot slot, const Value& left, const Value& right) {
  BinaryFunction leftFunction = slotsOf(left).nb[slot];
  BinaryFunction rightFunction = slotsOf(right).nb[slot];
  PyTypeObject* leftType = typeOf(left);
  PyTypeObject* rightType = typeOf(right);
  bool sameType = leftType == rightType && leftFunction == rightFunction;
  if (rightFunction && !sameType && leftType != rightType &&
      translator.heap.isSubtype(rightType, leftType)) {
    Value result = rightFunction(translator, slot, left, right);
    if (!isNotImplemented(result)) return result;
    rightFunction = nullptr;
  }
  if (leftFunction) {
    Value result = leftFunction(translator, slot, left, right);
    if (!isNotImplemented(result)) return result;
  }
  // One function serves many types here, so it is asked again unless it has seen both operands as
  // the same type already.
  if (rightFunction && !sameType && rightFunction != leftFunction) {
    return rightFunction(translator, slot, left, right);
  }
  return Value::constant(Py_NotImplemented);
}

// sq_repeat of str, bytes and tuple, by what has an __index__. (Of numbers the operator knows.)
Value repeatConstant(Translator& translator, NumberSlot slot, const Value& self,
                     const Value& count) {
  if (!hasIndex(translator, count)) {
    return translator.raise(PyExc_TypeError, "can't multiply sequence by non-int of type '%.200s'",
                            nameOf(translator, count));
  }
  int64_t times;
  if (!readSize(translator, count, PyExc_OverflowError, times)) return Value();
  return binaryOperation(translator, plainSlot(slot), self, Value::integer(times));
}

BinaryFunction repetitionOf(const Value& operand) {
  bool repeats = operand.isConstant() &&
                 cpython::fillsSlot(Py_TYPE(operand.object()), cpython::SpecialSlot::Repeat);
  return repeats ? repeatConstant : slotsOf(operand).sq_repeat;
}

// What has the operand's slot for a sequence: for an instance of a subclass its builtin part,
// unless the class has the method itself, by which it has a slot for numbers in its place.
Value sequenceOf(Translator& translator, NumberSlot slot, const Value& operand) {
  auto* part = partOf<SequenceVariable>(operand);
  if (!part || !trackerOf<UserObjectVariable>(operand)) return operand;
  const OperatorMethods& names = operatorMethods();
  // Either of the methods that sq_repeat stands for takes it from the class (update_one_slot).
  bool isInherited =
      leavesToPart(translator, operand, names.plain[slot]) &&
      (slot != nb_multiply || leavesToPart(translator, operand, names.reflected[slot]));
  return isInherited ? Value(part) : operand;
}

// Does the class of an object inherit the in-place operator of the builtin type?
bool isInPlace(Translator& translator, NumberSlot slot, const Value& operand) {
  return slot >= nb_inplace_add &&
         (!trackerOf<UserObjectVariable>(operand) ||
          leavesToPart(translator, operand, operatorMethods().inPlace[plainSlot(slot)]));
}

// sq_concat and sq_repeat, which the number protocol falls back to.
Value trySequence(Translator& translator, NumberSlot slot, const Value& left, const Value& right) {
  NumberSlot plain = plainSlot(slot);
  if (plain != nb_add && plain != nb_multiply) return Value::constant(Py_NotImplemented);
  Value first = sequenceOf(translator, plain, left);
  NumberSlot asked = isInPlace(translator, slot, left) ? slot : plain;
  if (plain == nb_add) {
    if (BinaryFunction concat = slotsOf(first).sq_concat) {
      return wholeOf(concat(translator, asked, first, right));
    }
  } else {
    if (BinaryFunction repeat = repetitionOf(first)) {
      return wholeOf(repeat(translator, asked, first, right));
    }
    // PyNumber_InPlaceMultiply: a left operand with any slots for sequences is asked alone.
    if (slot != plain && cpython::hasSequenceSlots(typeOf(left)))
      return Value::constant(Py_NotImplemented);
    Value second = sequenceOf(translator, plain, right);
    if (BinaryFunction repeat = repetitionOf(second)) {
      return repeat(translator, plain, second, left);
    }
  }
  return Value::constant(Py_NotImplemented);
}

}  // namespace

Value unaryOperation(Translator& translator, UnarySlot slot, Value operand, bool tail) {
  RecursionGuard guard(translator);
  if (slot == UnarySlot::nb_negative) {
    if (Value symbolic = symbolicNegative(translator, operand)) return symbolic;
  }
  if (slot == UnarySlot::nb_positive && isSymbolic(translator, operand)) {
    realizeType(translator, operand);
    if (typeOf(operand) != &PyUnicode_Type) return operand;
  }
  if (slot == UnarySlot::nb_invert) {
    if (Value computed = computedInverse(translator, operand)) return computed;
  }
  translator.realize(operand);
  if (UnaryOperation function = slotsOf(operand).nb_unary) {
    if (tail && function == kUserObjectSlots.nb_unary) {
      return objectUnary(translator, slot, operand, tail);
    }
    return function(translator, slot, operand);
  }
  const char* name = nameOf(translator, operand);
  if (slot == UnarySlot::nb_absolute) {
    return translator.raise(PyExc_TypeError, "bad operand type for abs(): '%.200s'", name);
  }
  return translator.raise(PyExc_TypeError, "bad operand type for unary %s: '%.200s'",
                          kUnarySymbols[static_cast<int>(slot)], name);
}

namespace {

// Has it, or may it have, sq_concat and sq_repeat, which come after the numbers' slots?
bool isSequence(const Value& operand) {
  PyObject* constant = operand.objectOrNull();
  if (partOf<SequenceVariable>(operand)) return true;
  if (!constant) return slotsOf(operand).sq_concat || slotsOf(operand).sq_repeat;
  return !(PyLong_CheckExact(constant) || PyFloat_CheckExact(constant) || PyBool_Check(constant) ||
           PyComplex_CheckExact(constant) || constant == Py_None);
}

// Is the operator one of askOperands(): of an object, and of what has no part in the rest of the
// protocol?
bool asksMethods(Translator& translator, NumberSlot slot, const Value& left, const Value& right) {
  auto isObject = [&](const Value& operand) {
    return slotsOf(operand).nb[slot] == kUserObjectSlots.nb[slot];
  };
  if (!isObject(left) && !isObject(right)) return false;
  if (isSequence(left) || (plainSlot(slot) == nb_multiply && isSequence(right))) return false;
  return isObject(left) || !translator.heap.isSubtype(typeOf(right), typeOf(left));
}

// Realizes a value; but a number that varied may stay as it is beside an array.
void realizeBeside(Translator& translator, const Value& other, Value& value) {
  if (trackerOf<TensorVariable>(other)) {
    realizeType(translator, value);
  } else {
    translator.realize(value);
  }
}

// Does the container compare its keys, or is it the program's, so that the address of an object may
// stay as it is?
bool takesAddresses(const Value& container) {
  return partOf<DictVariable>(container) || partOf<SetVariable>(container) ||
         trackerOf<UserObjectVariable>(container);
}

void realizeSubscript(Translator& translator, const Value& container, Value& key) {
  if (takesAddresses(container)) {
    realizeUnlessAddress(translator, key);
  } else {
    realizeBeside(translator, container, key);
  }
}

void realizeOperands(Translator& translator, Value& left, Value& right) {
  realizeType(translator, left);
  realizeBeside(translator, left, right);
  realizeBeside(translator, right, left);
}

}  // namespace

Value raiseUnsupportedOperands(Translator& translator, NumberSlot slot, const Value& left,
                               const Value& right) {
  return translator.raise(
      PyExc_TypeError, "unsupported operand type(s) for %.100s: '%.100s' and '%.100s'",
      operatorSymbol(slot), nameOf(translator, left), nameOf(translator, right));
}

Value binaryOperation(Translator& translator, NumberSlot slot, Value left, Value right, bool tail) {
  RecursionGuard guard(translator);
  if (Value symbolic = symbolicBinary(translator, slot, left, right)) return symbolic;
  realizeOperands(translator, left, right);
  if (tail && asksMethods(translator, slot, left, right)) {
    return askOperands(translator, slot, left, right, OperandStep::InPlace, tail);
  }
  if (slot >= nb_inplace_add) {
    if (BinaryFunction function = slotsOf(left).nb[slot]) {
      Value result = function(translator, slot, left, right);
      if (!isNotImplemented(result)) return result;
    }
  }
  Value result = tryBinary(translator, plainSlot(slot), left, right);
  if (!isNotImplemented(result)) return result;
  result = trySequence(translator, slot, left, right);
  if (!isNotImplemented(result)) return result;
  return raiseUnsupportedOperands(translator, slot, left, right);
}

// --- Comparison, truth, identity.

Value askComparison(Translator& translator, const Value& left, const Value& right, int op,
                    ComparisonStep first, bool tail) {
  static constexpr int kSwapped[] = {Py_GT, Py_GE, Py_EQ, Py_NE, Py_LT, Py_LE};
  static constexpr const char* kSymbols[] = {"<", "<=", "==", "!=", ">", ">="};
  PyTypeObject* leftType = typeOf(left);
  PyTypeObject* rightType = typeOf(right);
  CompareFunction rightFunction = slotsOf(right).tp_richcompare;
  bool rightFirst =
      rightFunction && leftType != rightType && translator.heap.isSubtype(rightType, leftType);
  for (auto step = first; step < ComparisonStep::End;) {
    bool asksLeft = step == ComparisonStep::Left;
    bool isItsTurn = asksLeft || rightFirst == (step == ComparisonStep::RightFirst);
    step = static_cast<ComparisonStep>(static_cast<int>(step) + 1);
    CompareFunction function = asksLeft ? slotsOf(left).tp_richcompare : rightFunction;
    if (!function || !isItsTurn) continue;
    const Value& self = asksLeft ? left : right;
    const Value& other = asksLeft ? right : left;
    int asked = asksLeft ? op : kSwapped[op];
    Value result = tail && function == kUserObjectSlots.tp_richcompare
                       ? objectCompare(translator, self, other, asked, tail)
                       : function(translator, self, other, asked);
    if (result.isFramePushed()) {
      translator.onReturn(
          {OnReturn::NextComparison,
           {left, right, Value::integer(op), Value::integer(static_cast<int>(step))}});
      return result;
    }
    if (!isNotImplemented(result)) return result;
  }
  if (op == Py_EQ) return Value::boolean(isSame(translator, left, right));
  if (op == Py_NE) return Value::boolean(!isSame(translator, left, right));
  return translator.raise(PyExc_TypeError,
                          "'%s' not supported between instances of '%.100s' and '%.100s'",
                          kSymbols[op], nameOf(translator, left), nameOf(translator, right));
}

Value richCompare(Translator& translator, Value left, Value right, int op, bool tail) {
  if (Value symbolic = symbolicComparison(translator, left, right, op)) return symbolic;
  if (Value answer = compareAddresses(translator, left, right, op)) return answer;
  CountedCall counted(translator);
  RecursionGuard guard(translator);
  realizeOperands(translator, left, right);
  return askComparison(translator, left, right, op, ComparisonStep::RightFirst, tail);
}

Value truth(Translator& translator, Value value, bool tail) {
  if (Value symbolic = symbolicTruth(translator, value)) return symbolic;
  translator.realize(value);
  if (tail && slotsOf(value).nb_bool == kUserObjectSlots.nb_bool) {
    return objectBool(translator, value, tail);
  }
  int answer = isTrue(translator, std::move(value));
  return answer < 0 ? Value() : Value::boolean(answer);
}

int isTrue(Translator& translator, Value value) {
  if (value.is(Py_True)) return 1;
  if (value.is(Py_False) || value.is(Py_None)) return 0;
  if (Value symbolic = symbolicTruth(translator, value)) return symbolic.is(Py_True);
  RecursionGuard guard(translator);
  translator.realize(value);
  if (Value length = varyingLength(translator, value)) return isTrue(translator, std::move(length));
  const TypeSlots& slots = slotsOf(value);
  UnaryFunction function = slots.nb_bool ? slots.nb_bool : slots.mp_length;
  if (!function) return 1;
  Value result = function(translator, value);
  if (!result) return -1;
  return PyObject_IsTrue(result.object());
}

Value iteratorToSearch(Translator& translator, const Value& iterable) {
  Value iterator = getIterator(translator, iterable);
  if (iterator) return iterator;
  auto* typeError = reinterpret_cast<PyTypeObject*>(PyExc_TypeError);
  if (translator.heap.isSubtype(typeOf(translator.exception()), typeError)) {
    translator.dropException();
    translator.raise(PyExc_TypeError, "argument of type '%.200s' is not iterable",
                     nameOf(translator, translator.realized(iterable)));
  }
  return Value();
}

int searchIterable(Translator& translator, const Value& iterable, const Value& item) {
  Value iterator = iteratorToSearch(translator, iterable);
  if (!iterator) return -1;
  while (Value element = iteratorNext(translator, iterator)) {
    int equal = areEqual(translator, std::move(element), item);
    if (equal != 0) return equal;
  }
  return translator.exceptionPending() ? -1 : 0;
}

int contains(Translator& translator, Value container, Value item) {
  RecursionGuard guard(translator);
  if (Value computed = computedContains(translator, container, item)) return computed.is(Py_True);
  translator.realize(container);
  realizeSubscript(translator, container, item);
  if (SubscriptFunction function = slotsOf(container).sq_contains) {
    Value result = function(translator, container, item);
    return result ? isTrue(translator, result) : -1;
  }
  return searchIterable(translator, container, item);
}

Value isContained(Translator& translator, Value container, Value item, bool tail) {
  if (Value computed = computedContains(translator, container, item)) return computed;
  translator.realize(container);
  if (tail && slotsOf(container).sq_contains == kUserObjectSlots.sq_contains) {
    realizeSubscript(translator, container, item);
    return objectContains(translator, container, item, tail);
  }
  if (tail && !slotsOf(container).sq_contains && stepsInPython(container)) {
    Value iterator = getIterator(translator, container);
    if (!iterator) return iterator;
    translator.realize(item);
    return walkItems(translator, iterator, ItemStep::Find, Value::none(), item, tail);
  }
  bool isTuple = container.isConstant() && PyTuple_CheckExact(container.object());
  bool searches = slotsOf(container).sq_contains == sequenceContains ||
                  (isTuple && !translator.realized(item).isConstant());
  if (tail && searches) {
    return searchItems(translator, container, item, Search::Presence, 0, PY_SSIZE_T_MAX, tail);
  }
  int answer = contains(translator, std::move(container), std::move(item));
  return answer < 0 ? Value() : Value::boolean(answer);
}

// --- Items.

Value getItem(Translator& translator, Value container, Value key, bool tail) {
  RecursionGuard guard(translator);
  if (Value computed = computedItem(translator, container, key)) return computed;
  translator.realize(container);
  realizeSubscript(translator, container, key);
  if (SubscriptFunction function = slotsOf(container).mp_subscript) {
    if (tail && function == kUserObjectSlots.mp_subscript) {
      return objectSubscript(translator, container, key, tail);
    }
    if (tail && function == kUserClassSlots.mp_subscript) {
      return classSubscript(translator, container, key, tail);
    }
    return function(translator, container, key);
  }
  return translator.raise(PyExc_TypeError, "'%.200s' object is not subscriptable",
                          nameOf(translator, container));
}

bool setItem(Translator& translator, Value container, Value key, Value value) {
  RecursionGuard guard(translator);
  translator.realize(container);
  realizeSubscript(translator, container, key);
  if (AssignSubscriptFunction function = slotsOf(container).mp_ass_subscript) {
    return function(translator, container, key, value);
  }
  raiseNoItemAssignment(translator, container, key, false);
  return false;
}

bool deleteItem(Translator& translator, Value container, Value key) {
  RecursionGuard guard(translator);
  translator.realize(container);
  realizeSubscript(translator, container, key);
  if (AssignSubscriptFunction function = slotsOf(container).mp_ass_subscript) {
    return function(translator, container, key, Value());
  }
  raiseNoItemAssignment(translator, container, key, true);
  return false;
}

Value assignItem(Translator& translator, Value container, Value key, Value value, bool tail) {
  translator.realize(container);
  if (tail && slotsOf(container).mp_ass_subscript == kUserObjectSlots.mp_ass_subscript) {
    realizeSubscript(translator, container, key);
    return objectAssignSubscript(translator, container, key, value, tail);
  }
  bool ok = value ? setItem(translator, std::move(container), std::move(key), std::move(value))
                  : deleteItem(translator, std::move(container), std::move(key));
  return ok ? Value::none() : Value();
}

Value varyingLength(Translator& translator, Value container) {
  if (!translator.hasVariation()) return Value();
  translator.realize(container);
  if (auto* sequence = trackerOf<MutableSequenceVariable>(container)) {
    return sequence->varyingSize();
  }
  if (auto* set = trackerOf<SetVariable>(container)) return set->varyingSize(translator);
  auto* dict = trackerOf<DictVariable>(container);
  return dict ? dict->varyingSize(translator) : Value();
}

Value lengthOf(Translator& translator, Value container, bool tail) {
  translator.realize(container);
  if (tail && slotsOf(container).mp_length == kUserObjectSlots.mp_length) {
    return objectLength(translator, container, tail);
  }
  int64_t size = length(translator, std::move(container));
  return size < 0 ? Value() : Value::integer(size);
}

int64_t length(Translator& translator, Value container) {
  RecursionGuard guard(translator);
  translator.realize(container);
  UnaryFunction function = slotsOf(container).mp_length;
  if (!function) {
    translator.raise(PyExc_TypeError, "object of type '%.200s' has no len()",
                     nameOf(translator, container));
    return -1;
  }
  Value result = function(translator, container);
  return result ? PyLong_AsLongLong(result.object()) : -1;
}

Value toIndex(Translator& translator, Value value) {
  translator.realize(value);
  if (PyObject* object = value.objectOrNull(); object && PyLong_CheckExact(object)) return value;
  if (UnaryFunction function = slotsOf(value).nb_index) return function(translator, value);
  return translator.raise(PyExc_TypeError, "'%.200s' object cannot be interpreted as an integer",
                          nameOf(translator, value));
}

// --- Calls.

Value call(Translator& translator, const Value& callable, CallArguments& arguments) {
  RecursionGuard guard(translator);
  Value realized = callable;
  translator.realize(realized);
  if (translator.loggingFunctions) {
    if (std::optional<Value> result = callLogging(translator, realized, arguments)) return *result;
  }
  if (PyObject* standIn = standInFor(realized)) {
    return callStandIn(translator, realized, standIn, arguments);
  }
  if (CallFunction function = slotsOf(realized).tp_call) {
    return function(translator, realized, arguments);
  }
  return translator.raise(PyExc_TypeError, "'%.200s' object is not callable",
                          nameOf(translator, realized));
}

Value call(Translator& translator, const Value& callable, llvm::ArrayRef<Value> arguments,
           bool tail) {
  CallArguments all;
  all.tail = tail;
  all.values.append(arguments.begin(), arguments.end());
  return call(translator, callable, all);
}

Value callMethod(Translator& translator, Value object, const char* name,
                 llvm::ArrayRef<Value> arguments, bool tail) {
  Ref<> interned = checked(PyUnicode_InternFromString(name));
  Value function;
  bool isMethod = loadMethod(translator, object, interned.get(), function);
  if (!function) return function;
  CallArguments all;
  if (isMethod) all.values.push_back(object);
  all.values.append(arguments.begin(), arguments.end());
  all.tail = tail;
  return call(translator, function, all);
}

// --- Slots that break.

namespace unimplemented {

[[noreturn]] static void unmodelled(const char* operation, const Value& self) {
  throw GraphBreak(GraphBreakKind::UnsupportedOperation,
                   std::string(operation) + ": " + describe(self));
}

Value binary(Translator&, NumberSlot slot, const Value& left, const Value& right) {
  throw GraphBreak(GraphBreakKind::UnsupportedOperation,
                   describe(left) + " " + operatorSymbol(slot) + " " + describe(right));
}
Value unary(Translator&, const Value& self) { unmodelled("special method", self); }
Value unaryOperation(Translator&, UnarySlot slot, const Value& self) {
  unmodelled(kUnarySymbols[static_cast<int>(slot)], self);
}
Value compare(Translator&, const Value& left, const Value&, int) { unmodelled("comparison", left); }
Value subscript(Translator&, const Value& self, const Value&) { unmodelled("subscript", self); }
bool assignSubscript(Translator&, const Value& self, const Value&, const Value&) {
  unmodelled("item assignment", self);
}
Value getAttribute(Translator&, const Value& self, PyObject* name) {
  unmodelled((std::string("attribute ") + printable(name)).c_str(), self);
}
bool setAttribute(Translator&, const Value& self, PyObject* name, const Value&) {
  unmodelled((std::string("assignment to attribute ") + printable(name)).c_str(), self);
}
Value call(Translator&, const Value& callable, CallArguments&) { unmodelled("call", callable); }

}  // namespace unimplemented

}  // namespace armature
