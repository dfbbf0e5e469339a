#include "variables/objects/user_defined.h"

#include "core/builtin_part.h"
#include "core/checked.h"
#include "core/pending_python_exception.h"
#include "cpython/instance_attributes.h"
#include "cpython/simple_namespace.h"
#include "cpython/type_lookup.h"
#include "variables/constants/constant.h"
#include "variables/containers/deque.h"
#include "variables/containers/iterators.h"
#include "variables/functions/library_calls.h"
#include "variables/kind_slots.h"
#include "variables/objects/address.h"
#include "variables/objects/exception.h"
#include "variables/objects/instance_dict.h"
#include "variables/protocol/attribute_protocol.h"
#include "variables/protocol/indexing.h"
#include "variables/protocol/object_protocol.h"
#include "variables/protocol/operator_methods.h"
#include "variables/trailed.h"

namespace armature {

namespace {

PyObject* name(const char* text) { return staticName(text); }

}  // namespace

bool leavesToPart(Translator& translator, const Value& self, PyObject* method) {
  PyTypeObject* type = typeOf(self);
  return translator.heap.inherits(type, cpython::staticBase(type), method);
}

Value builtinData(Translator& translator, const Value& value) {
  auto* object = trackerOf<UserObjectVariable>(value);
  if (!object || object->data) return object ? object->data : Value();
  if (!object->existing() || !dataLayout(object->type())) return Value();
  Ref<> data = checked(builtinPart(object->existing()).release());
  translator.addGuard(object->source(), GuardType::BUILTIN_PART_MATCH, data);
  assignTrailed(translator.trail, object->data, Value::constant(data));
  return object->data;
}

namespace {

DictVariable* instanceDict(Translator& translator, const Value& self) {
  auto* object = requireKind<UserObjectVariable>(self);
  return instanceDictOf(translator, object, object->dict);
}

// Calls a special method; null without a pending exception if the type has none.
Value callSpecial(Translator& translator, const Value& self, PyObject* special,
                  llvm::ArrayRef<Value> arguments, bool tail = false) {
  Value method = lookupSpecial(translator, self, special);
  if (!method) return method;
  // Looked at here: NotImplemented may come from a global.
  return translator.realized(call(translator, method, arguments, tail));
}

// As callSpecial, for the methods of which CPython takes one that fails to bind for none.
Value callBound(Translator& translator, const Value& self, PyObject* special,
                llvm::ArrayRef<Value> arguments, bool tail) {
  Value method = lookupSpecial(translator, self, special);
  if (!method && translator.exceptionPending()) translator.dropException();
  return method ? translator.realized(call(translator, method, arguments, tail)) : method;
}

Value objectBinary(Translator& translator, NumberSlot slot, const Value& left, const Value& right);

// What answers operators by the methods of its class, which is written in Python: an instance, or a
// class by its metaclass.
bool hasSpecialMethods(const Value& value) {
  return slotsOf(value).nb[nb_add] == objectBinary || trackerOf<UserClassVariable>(value);
}

// list and tuple have their operators in the slots of sequences, which are asked when the numbers'
// slots of both operands have not answered. (But a subclass of list gets list's `+=` in both.) A
// class with one of the two methods of an operator has the numbers' slot, which asks for either.
bool isOperatorOfSequence(Translator& translator, const Value& self, PyObject* method,
                          PyObject* other) {
  return partOf<SequenceVariable>(self) &&
         cpython::ownAttribute(cpython::staticBase(typeOf(self)), method) &&
         leavesToPart(translator, self, method) && leavesToPart(translator, self, other);
}

// The method that a step of a binary operator asks; none where `name` is null.
struct AskedMethod {
  Value self;
  PyObject* name = nullptr;
  Value other;
};

AskedMethod methodOfStep(Translator& translator, NumberSlot slot, const Value& left,
                         const Value& right, OperandStep step) {
  const OperatorMethods& names = operatorMethods();
  bool isInPlace = slot >= nb_inplace_add;
  int plain = isInPlace ? slot - nb_inplace_add : slot;
  bool leftIsObject = hasSpecialMethods(left);
  if (step == OperandStep::InPlace) {
    return isInPlace && leftIsObject ? AskedMethod{left, names.inPlace[plain], right}
                                     : AskedMethod{};
  }
  if (step == OperandStep::Left) {
    return leftIsObject ? AskedMethod{left, names.plain[plain], right} : AskedMethod{};
  }
  PyTypeObject* leftType = typeOf(left);
  PyTypeObject* rightType = typeOf(right);
  if (!hasSpecialMethods(right) || leftType == rightType) return {};
  // str's own __rmul__ stands for no slot of numbers, but for the repetition of a sequence,
  // which the left operand is asked for first.
  PyTypeObject* layout = dataLayout(rightType);
  bool isText = layout == &PyUnicode_Type || layout == &PyBytes_Type;
  bool leftRepeats =
      slotsOf(left).sq_repeat || (left.isConstant() && PySequence_Check(left.object()));
  if (isText && leftRepeats && plain == nb_multiply &&
      translator.heap.inherits(rightType, layout, names.reflected[plain])) {
    return {};
  }
  bool rightFirst = leftIsObject && translator.heap.isSubtype(rightType, leftType) &&
                    !translator.heap.inherits(rightType, leftType, names.reflected[plain]);
  bool isItsTurn = rightFirst == (step == OperandStep::RightFirst);
  return isItsTurn ? AskedMethod{right, names.reflected[plain], left} : AskedMethod{};
}

AskedMethod askedMethod(Translator& translator, NumberSlot slot, const Value& left,
                        const Value& right, OperandStep step) {
  AskedMethod asked = methodOfStep(translator, slot, left, right, step);
  bool isExtension = step == OperandStep::InPlace && slot == nb_inplace_add;
  const OperatorMethods& names = operatorMethods();
  int plain = slot >= nb_inplace_add ? slot - nb_inplace_add : slot;
  PyObject* other = names.plain[plain];
  if (asked.name == other) other = names.reflected[plain];
  if (step == OperandStep::InPlace) other = asked.name;
  bool isLater =
      asked.name && !isExtension && isOperatorOfSequence(translator, asked.self, asked.name, other);
  return isLater ? AskedMethod() : asked;
}

// Asks the methods of the steps; NotImplemented where none answers.
Value askSteps(Translator& translator, NumberSlot slot, const Value& left, const Value& right,
               OperandStep first, OperandStep end, bool tail) {
  for (int step = static_cast<int>(first); step < static_cast<int>(end); ++step) {
    AskedMethod asked = askedMethod(translator, slot, left, right, static_cast<OperandStep>(step));
    if (!asked.name) continue;
    Value result = callSpecial(translator, asked.self, asked.name, {asked.other}, tail);
    if (result.isFramePushed()) {
      translator.onReturn(
          {OnReturn::NextOperand, {left, right, Value::integer(slot), Value::integer(step + 1)}});
      return result;
    }
    bool isAbsent = !result && !translator.exceptionPending();
    if (!isAbsent && !result.is(Py_NotImplemented)) return result;
  }
  return Value::constant(Py_NotImplemented);
}

// slot_nb_add and its like of typeobject.c.
Value objectBinary(Translator& translator, NumberSlot slot, const Value& left, const Value& right) {
  bool isInPlace = slot >= nb_inplace_add;
  return askSteps(translator, slot, left, right,
                  isInPlace ? OperandStep::InPlace : OperandStep::RightFirst,
                  isInPlace ? OperandStep::RightFirst : OperandStep::End, false);
}

}  // namespace

Value askOperands(Translator& translator, NumberSlot slot, const Value& left, const Value& right,
                  OperandStep first, bool tail) {
  auto plain = static_cast<NumberSlot>(slot >= nb_inplace_add ? slot - nb_inplace_add : slot);
  // What is no object answers by its slot.
  auto askSlot = [&](const Value& operand, NumberSlot asked) {
    BinaryFunction function = slotsOf(operand).nb[asked];
    return function && !hasSpecialMethods(operand) ? function(translator, asked, left, right)
                                                   : Value::constant(Py_NotImplemented);
  };
  Value result = Value::constant(Py_NotImplemented);
  if (first == OperandStep::InPlace) {
    if (slot != plain) result = askSlot(left, slot);
    if (result.is(Py_NotImplemented)) result = askSlot(left, plain);
    if (!result.is(Py_NotImplemented)) return result;
  }
  result = askSteps(translator, slot, left, right, first, OperandStep::End, tail);
  if (result.is(Py_NotImplemented)) result = askSlot(right, plain);
  return result.is(Py_NotImplemented) ? raiseUnsupportedOperands(translator, slot, left, right)
                                      : result;
}

Value objectUnary(Translator& translator, UnarySlot slot, const Value& self, bool tail) {
  static constexpr const char* kSymbols[] = {"unary -", "unary +", "unary ~", "abs()"};
  Value result = callSpecial(translator, self, unaryMethod(slot), {}, tail);
  if (!result && !translator.exceptionPending()) {
    return translator.raise(PyExc_TypeError, "bad operand type for %s: '%.200s'",
                            kSymbols[static_cast<int>(slot)], nameOf(translator, self));
  }
  return result;
}

Value checkLength(Translator& translator, Value result) {
  result = toIndex(translator, result);
  if (!result) return result;
  if (Py_SIZE(result.object()) < 0) {
    return translator.raise(PyExc_ValueError, "__len__() should return >= 0");
  }
  Py_ssize_t size = PyNumber_AsSsize_t(result.object(), PyExc_OverflowError);
  return size < 0 ? translator.raiseFromPython() : result;
}

Value objectLength(Translator& translator, const Value& self, bool tail) {
  static PyObject* const len = name("__len__");
  Value result = callSpecial(translator, self, len, {}, tail);
  if (!result && !translator.exceptionPending()) {
    return translator.raise(PyExc_TypeError, "object of type '%.200s' has no len()",
                            nameOf(translator, self));
  }
  return then(translator, std::move(result), {OnReturn::CheckLength, {}});
}

Value checkBool(Translator& translator, Value result) {
  translator.realize(result);
  if (result.isConstant() && PyBool_Check(result.object())) return result;
  return translator.raise(PyExc_TypeError, "__bool__ should return bool, returned %s",
                          nameOf(translator, result));
}

Value objectBool(Translator& translator, const Value& self, bool tail) {
  static PyObject* const boolName = name("__bool__");
  static PyObject* const len = name("__len__");
  Value result = callSpecial(translator, self, boolName, {}, tail);
  if (result || translator.exceptionPending()) {
    return then(translator, std::move(result), {OnReturn::CheckBool, {}});
  }
  if (!translator.heap.lookup(typeOf(self), len)) return Value::boolean(true);
  return then(translator, objectLength(translator, self, tail), {OnReturn::Truth, {}});
}

namespace {

// What a special method returned, if it is an instance of the builtin type that it has to be.
// Otherwise raises TypeError with the message, a format of that type's name.
Value requireType(Translator& translator, Value result, PyTypeObject* type, const char* message) {
  if (!result || typeOf(result) == type) return result;
  if (!PyType_IsSubtype(typeOf(result), type)) {
    return translator.raise(PyExc_TypeError, message, nameOf(translator, result));
  }
  throw GraphBreak(GraphBreakKind::SpecialMethodResult, describe(result));
}

Value objectConversion(Translator& translator, const Value& self, PyObject* special,
                       const char* message, bool tail) {
  Value result = callSpecial(translator, self, special, {}, tail);
  if (!result && !translator.exceptionPending()) {
    return translator.raise(PyExc_TypeError, message, nameOf(translator, self));
  }
  return result;
}

}  // namespace

Value checkInt(Translator& translator, Value result, const char* message) {
  result = requireType(translator, translator.realized(std::move(result)), &PyLong_Type, message);
  // Each call makes another object, of which this is the address.
  if (trackerOf<AddressVariable>(result)) {
    throw GraphBreak(GraphBreakKind::UnsupportedBuiltin, "id()",
                     "What the function makes has another id() in each call.");
  }
  return result;
}

Value checkFloat(Translator& translator, const Value& self, Value result) {
  std::string message = std::string(nameOf(translator, self)).substr(0, 50) +
                        ".__float__ returned non-float (type %.50s)";
  return requireType(translator, translator.realized(std::move(result)), &PyFloat_Type,
                     message.c_str());
}

Value objectIndex(Translator& translator, const Value& self, bool tail) {
  static PyObject* const special = name("__index__");
  // PyNumber_Index takes an int as it is, whatever a subclass makes of __index__.
  if (dataLayout(typeOf(self)) == &PyLong_Type) return builtinData(translator, self);
  return then(translator,
              objectConversion(translator, self, special,
                               "'%.200s' object cannot be interpreted as an integer", tail),
              {OnReturn::CheckIndex, {}});
}

Value objectInt(Translator& translator, const Value& self, bool tail) {
  static PyObject* const special = name("__int__");
  return then(translator,
              objectConversion(translator, self, special,
                               "int() argument must be a string, a bytes-like object or a real "
                               "number, not '%.200s'",
                               tail),
              {OnReturn::CheckInt, {}});
}

Value objectFloat(Translator& translator, const Value& self, bool tail) {
  static PyObject* const special = name("__float__");
  return then(
      translator,
      objectConversion(translator, self, special,
                       "float() argument must be a string or a real number, not '%.200s'", tail),
      {OnReturn::CheckFloat, {self}});
}

// The deque of an instance of a subclass that has no such method itself: it has slots for sequences
// alone, which operators ask in another way than the method does.
Value inheritedDeque(Translator& translator, const Value& self, PyObject* method) {
  auto* deque = partOf<DequeVariable>(self);
  return deque && leavesToPart(translator, self, method) ? Value(deque) : Value();
}

Value objectSubscript(Translator& translator, const Value& self, const Value& key, bool tail) {
  static PyObject* const special = name("__getitem__");
  if (Value deque = inheritedDeque(translator, self, special)) {
    return slotsOf(deque).mp_subscript(translator, deque, key);
  }
  // As it is: a number that varies is not looked at here.
  Value method = lookupSpecial(translator, self, special);
  Value result = method ? call(translator, method, {key}, tail) : method;
  if (!result && !translator.exceptionPending()) {
    return translator.raise(PyExc_TypeError, "'%.200s' object is not subscriptable",
                            nameOf(translator, self));
  }
  return result;
}

Value objectAssignSubscript(Translator& translator, const Value& self, const Value& key,
                            const Value& value, bool tail) {
  static PyObject* const set = name("__setitem__");
  static PyObject* const del = name("__delitem__");
  if (Value deque = inheritedDeque(translator, self, value ? set : del)) {
    bool done = slotsOf(deque).mp_ass_subscript(translator, deque, key, value);
    return done ? Value::none() : Value();
  }
  Value result = value ? callSpecial(translator, self, set, {key, value}, tail)
                       : callSpecial(translator, self, del, {key}, tail);
  if (!result && !translator.exceptionPending()) {
    // One C function stands for both methods (slot_mp_ass_subscript).
    if (translator.heap.lookup(typeOf(self), value ? del : set)) {
      return translator.raise(PyExc_AttributeError, "%U", value ? set : del);
    }
    return raiseNoItemAssignment(translator, self, key, !value);
  }
  return result;
}

Value objectContains(Translator& translator, const Value& self, const Value& item, bool tail) {
  static PyObject* const special = name("__contains__");
  Found found = translator.heap.lookup(typeOf(self), special);
  if (found && found.object == Py_None) {
    return translator.raise(PyExc_TypeError, "'%.200s' object is not a container",
                            nameOf(translator, self));
  }
  if (found) {
    return then(translator, callSpecial(translator, self, special, {item}, tail),
                {OnReturn::Truth, {}});
  }
  int answer = searchIterable(translator, self, item);
  return answer < 0 ? Value() : Value::boolean(answer);
}

Value objectIterator(Translator& translator, const Value& self, bool tail) {
  static PyObject* const iter = name("__iter__");
  static PyObject* const getitem = name("__getitem__");
  Found iterFound = translator.heap.lookup(typeOf(self), iter);
  Value result = iterFound && iterFound.object == Py_None
                     ? Value()
                     : callBound(translator, self, iter, {}, tail);
  if (!result && !translator.exceptionPending()) {
    bool isNone = iterFound && iterFound.object == Py_None;
    if (!isNone && translator.heap.lookup(typeOf(self), getitem)) {
      return translator.make<SequenceIteratorVariable>(&PySeqIter_Type, self);
    }
    return translator.raise(PyExc_TypeError, "'%.200s' object is not iterable",
                            nameOf(translator, self));
  }
  return result;
}

Value objectNext(Translator& translator, const Value& self, bool tail) {
  static PyObject* const special = name("__next__");
  Value result = callSpecial(translator, self, special, {}, tail);
  if (!result && !translator.exceptionPending()) {
    return translator.raise(PyExc_TypeError, "'%.200s' object is not an iterator",
                            nameOf(translator, self));
  }
  return result;
}

namespace {

Value callObject(Translator& translator, const Value& callable, CallArguments& arguments) {
  static PyObject* const special = name("__call__");
  auto* object = trackerOf<UserObjectVariable>(callable);
  if (Value result;
      object && object->existing() && callLibrary(translator, callable, arguments, result)) {
    translator.addGuard(object->source(), GuardType::ID_MATCH, object->existing());
    return result;
  }
  Value method = lookupSpecial(translator, callable, special);
  if (!method && translator.exceptionPending()) return method;
  if (!method) {
    return translator.raise(PyExc_TypeError, "'%.200s' object is not callable",
                            nameOf(translator, callable));
  }
  return call(translator, method, arguments);
}

}  // namespace

namespace {

// slot_tp_richcompare
Value compareBy(Translator& translator, const Value& left, const Value& right, int op, bool tail) {
  Value result = callBound(translator, left, compareMethod(op), {right}, tail);
  bool answers = result || translator.exceptionPending();
  return answers ? result : Value::constant(Py_NotImplemented);
}

}  // namespace

Value objectCompare(Translator& translator, const Value& left, const Value& right, int op,
                    bool tail) {
  PyTypeObject* type = typeOf(left);
  Heap& heap = translator.heap;
  if (heap.inherits(type, &PyBaseObject_Type, compareMethod(op))) {
    // object's own: __ne__ inverts __eq__, the others know identity alone.
    if (op == Py_NE && !heap.inherits(type, &PyBaseObject_Type, compareMethod(Py_EQ))) {
      return then(translator, compareBy(translator, left, right, Py_EQ, tail),
                  {OnReturn::Differ, {}});
    }
    if (op == Py_EQ && isSame(translator, left, right)) return Value::boolean(true);
    return Value::constant(Py_NotImplemented);
  }
  return compareBy(translator, left, right, op, tail);
}

Value checkHash(Translator& translator, Value result) {
  result = checkInt(translator, std::move(result), "__hash__ method should return an integer");
  if (!result) return result;
  // slot_tp_hash: what does not fit is hashed itself, and -1 stands for an error.
  Py_hash_t hash = PyLong_AsSsize_t(result.object());
  if (hash == -1 && PyErr_Occurred()) {
    clearException();
    hash = PyObject_Hash(result.object());
  }
  return Value::integer(hash == -1 ? -2 : hash);
}

Value objectHash(Translator& translator, const Value& self, bool tail) {
  static PyObject* const special = name("__hash__");
  Found found = translator.heap.lookup(typeOf(self), special);
  if (found.object == Py_None) {
    return translator.raise(PyExc_TypeError, "unhashable type: '%.200s'", nameOf(translator, self));
  }
  if (found.object == cpython::lookup(&PyBaseObject_Type, special)) {
    throw GraphBreak(GraphBreakKind::HashOfAddress, describe(self));
  }
  Value result = callBound(translator, self, special, {}, tail);
  if (!result && !translator.exceptionPending()) {
    return translator.raise(PyExc_TypeError, "unhashable type: '%.200s'", nameOf(translator, self));
  }
  return then(translator, std::move(result), {OnReturn::CheckHash, {}});
}

namespace {

Value objectText(Translator& translator, const Value& self, PyObject* special, bool tail) {
  Found found = translator.heap.lookup(typeOf(self), special);
  auto* object = trackerOf<UserObjectVariable>(self);
  bool isNamespace = PyType_IsSubtype(typeOf(self), cpython::simpleNamespaceType());
  bool hasLayout = isNamespace || dataLayout(typeOf(self)) || (object && object->container);
  bool isData = hasLayout && !translator.heap.inherits(typeOf(self), &PyBaseObject_Type, special);
  static PyObject* const repr = name("__repr__");
  if (found && (isData || Py_TYPE(found.object) != &PyWrapperDescr_Type)) {
    if (special != repr) return callSpecial(translator, self, special, {}, tail);
    Value result = callBound(translator, self, special, {}, tail);
    if (result || translator.exceptionPending()) return result;
    throw GraphBreak(GraphBreakKind::TextOfObject, describe(self));
  }
  if (special != repr && translator.heap.inherits(typeOf(self), &PyBaseObject_Type, special)) {
    return objectText(translator, self, repr, tail);
  }
  throw GraphBreak(GraphBreakKind::TextOfObject, describe(self));
}

}  // namespace

Value objectStr(Translator& translator, const Value& self, bool tail) {
  static PyObject* const special = name("__str__");
  return objectText(translator, self, special, tail);
}
Value objectRepr(Translator& translator, const Value& self, bool tail) {
  static PyObject* const special = name("__repr__");
  return objectText(translator, self, special, tail);
}

namespace {

// The slot of a function that could leave a frame to its caller.
template <Value (*function)(Translator&, const Value&, bool)>
Value withoutTail(Translator& translator, const Value& self) {
  return function(translator, self, false);
}
template <Value (*function)(Translator&, const Value&, const Value&, bool)>
Value withoutTail(Translator& translator, const Value& self, const Value& key) {
  return function(translator, self, key, false);
}

bool setObjectAttribute(Translator& translator, const Value& self, PyObject* attribute,
                        const Value& value) {
  static PyObject* const className = name("__class__");
  static PyObject* const dictName = name("__dict__");
  if (attribute == className || attribute == dictName) {
    throw GraphBreak(GraphBreakKind::AssignmentToClassOrDict, describe(self));
  }
  return genericSetAttribute(translator, self, attribute, value);
}

}  // namespace

TypeSlots makeObjectSlots() {
  TypeSlots slots;
  slots.nb.fill(objectBinary);
  slots.nb_unary = [](Translator& translator, UnarySlot slot, const Value& self) {
    return objectUnary(translator, slot, self, false);
  };
  slots.nb_bool = withoutTail<objectBool>;
  slots.nb_index = withoutTail<objectIndex>;
  slots.nb_int = withoutTail<objectInt>;
  slots.nb_float = withoutTail<objectFloat>;
  slots.mp_length = withoutTail<objectLength>;
  slots.mp_subscript = withoutTail<objectSubscript>;
  slots.mp_ass_subscript = [](Translator& translator, const Value& self, const Value& key,
                              const Value& value) {
    return static_cast<bool>(objectAssignSubscript(translator, self, key, value, false));
  };
  slots.sq_contains = withoutTail<objectContains>;
  slots.tp_iter = withoutTail<objectIterator>;
  slots.tp_iternext = [](Translator& translator, const Value& self) {
    return then(translator, objectNext(translator, self, false), {OnReturn::EndIteration, {}});
  };
  slots.tp_call = callObject;
  slots.tp_hash = withoutTail<objectHash>;
  slots.tp_richcompare = [](Translator& translator, const Value& left, const Value& right, int op) {
    return objectCompare(translator, left, right, op, false);
  };
  slots.tp_setattro = setObjectAttribute;
  slots.instanceDict = instanceDict;
  slots.tp_str = withoutTail<objectStr>;
  slots.tp_repr = withoutTail<objectRepr>;
  return slots;
}

namespace {

PyObject* const kNamespaceType = reinterpret_cast<PyObject*>(cpython::simpleNamespaceType());

const BuiltinAttribute kAttributes[] = {
    {&kNamespaceType, "__dict__",
     [](Translator& translator, const Value& self) {
       return translator.dictValue(instanceDict(translator, self));
     },
     nullptr},
};

TypeSlots makeUserObjectSlots() {
  TypeSlots slots = makeObjectSlots();
  slots.getset = kAttributes;
  return slots;
}

}  // namespace

const TypeSlots kUserObjectSlots = makeUserObjectSlots();

}  // namespace armature
