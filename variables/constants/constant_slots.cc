// The behaviour of constants: CPython's own, on the real objects.
#include <llvm/ADT/STLExtras.h>

#include <array>

#include "core/builtin_part.h"
#include "core/checked.h"
#include "core/pending_python_exception.h"
#include "core/text.h"
#include "cpython/buffers.h"
#include "cpython/c_functions.h"
#include "cpython/instance_attributes.h"
#include "cpython/integers.h"
#include "cpython/set_entries.h"
#include "variables/constants/constant.h"
#include "variables/constants/digit_limit.h"
#include "variables/constants/percent_format.h"
#include "variables/containers/dict.h"
#include "variables/containers/iterators.h"
#include "variables/containers/mapping_proxy.h"
#include "variables/containers/sequence.h"
#include "variables/containers/sequence_slots.h"
#include "variables/containers/set_operations.h"
#include "variables/functions/functions.h"
#include "variables/kind_slots.h"
#include "variables/objects/generic_alias.h"
#include "variables/objects/user_defined.h"
#include "variables/protocol/equality.h"
#include "variables/protocol/object_protocol.h"
#include "variables/protocol/real_data.h"

namespace armature {

namespace {

PyObject* power(PyObject* left, PyObject* right) { return PyNumber_Power(left, right, Py_None); }
PyObject* inPlacePower(PyObject* left, PyObject* right) {
  return PyNumber_InPlacePower(left, right, Py_None);
}

// By NumberSlot.
constexpr binaryfunc kOperations[] = {PyNumber_Add,
                                      PyNumber_And,
                                      PyNumber_FloorDivide,
                                      PyNumber_Lshift,
                                      PyNumber_MatrixMultiply,
                                      PyNumber_Multiply,
                                      PyNumber_Remainder,
                                      PyNumber_Or,
                                      power,
                                      PyNumber_Rshift,
                                      PyNumber_Subtract,
                                      PyNumber_TrueDivide,
                                      PyNumber_Xor,
                                      PyNumber_InPlaceAdd,
                                      PyNumber_InPlaceAnd,
                                      PyNumber_InPlaceFloorDivide,
                                      PyNumber_InPlaceLshift,
                                      PyNumber_InPlaceMatrixMultiply,
                                      PyNumber_InPlaceMultiply,
                                      PyNumber_InPlaceRemainder,
                                      PyNumber_InPlaceOr,
                                      inPlacePower,
                                      PyNumber_InPlaceRshift,
                                      PyNumber_InPlaceSubtract,
                                      PyNumber_InPlaceTrueDivide,
                                      PyNumber_InPlaceXor};

// How many bits or items the result of an operation may have for the trace to compute it. What is
// larger is left to the call, which may have to do it anyway, but not twice.
constexpr double kLargestResult = 1 << 22;

double bitsOf(PyObject* integer) { return static_cast<double>(cpython::bitLength(integer)); }

double sizeOf(PyObject* object) {
  if (PyUnicode_CheckExact(object)) return static_cast<double>(PyUnicode_GET_LENGTH(object));
  bool isSized = PyTuple_CheckExact(object) || PyBytes_CheckExact(object);
  return isSized ? static_cast<double>(Py_SIZE(object)) : 0;
}

// The value of an int, or something larger than any bound.
double magnitude(PyObject* integer) {
  double value = PyLong_AsDouble(integer);
  if (value == -1 && PyErr_Occurred()) clearException();  // beyond a double
  return bitsOf(integer) > 60 ? 1e300 : value;
}

// Of `**`, `<<` and `*`, whose results may be far larger than their operands.
double sizeOfResult(NumberSlot slot, PyObject* left, PyObject* right) {
  NumberSlot plain = slot >= nb_inplace_add ? static_cast<NumberSlot>(slot - nb_inplace_add) : slot;
  bool integers = PyLong_Check(left) && PyLong_Check(right);
  if (integers && plain == nb_power) return bitsOf(left) * magnitude(right);
  if (integers && plain == nb_lshift) return bitsOf(left) + magnitude(right);
  if (integers && plain == nb_multiply) return bitsOf(left) + bitsOf(right);
  if (plain != nb_multiply) return 0;
  if (PyLong_Check(right)) return sizeOf(left) * magnitude(right);
  return PyLong_Check(left) ? sizeOf(right) * magnitude(left) : 0;
}

// What the C code of a builtin type reads of an operand: of an instance of a subclass of int, str
// and their like the value, whatever the subclass makes of the operators.
Value asData(Translator& translator, const Value& operand) {
  Value data = builtinData(translator, operand);
  return data ? data : operand;
}

// Numbers of a builtin type know those of the types before it: int.__truediv__ leaves a float to
// the float's own method, which the float's class may override.
int rankOfNumber(PyObject* object) {
  if (PyLong_Check(object)) return 1;
  if (PyFloat_Check(object)) return 2;
  return PyComplex_Check(object) ? 3 : 0;
}

// Does the operator of `number` leave the operation to that of `other`?
bool leavesNumber(PyObject* number, PyObject* other) {
  int rank = rankOfNumber(number);
  return rank && rankOfNumber(other) > rank;
}

// An operation on what such operands are as data has failed. Its TypeError names other types than
// the operands', and to raise it is the protocol's business: NotImplemented.
Value unlessOfTypes(Translator& translator, Value result) {
  if (result || !dropTypeErrorOfData(translator)) return result;
  return Value::constant(Py_NotImplemented);
}

// A constant frozenset and a traced set, or an object that has one.
bool isTakenAsSet(const Value& left, const Value& right) {
  return left.isConstant() && PyFrozenSet_CheckExact(left.object()) && partOf<SetVariable>(right);
}

// What importlib says of a module follows from its class and its variables, which may change.
// (Constants are nested to a small depth only.)
void requireSteadyText(PyObject* constant) {
  if (PyModule_Check(constant)) {
    throw GraphBreak(GraphBreakKind::AttributeOfConstant, describe(Value::constant(constant)));
  }
  for (Py_ssize_t i = 0; PyTuple_Check(constant) && i < PyTuple_GET_SIZE(constant); ++i) {
    requireSteadyText(PyTuple_GET_ITEM(constant, i));
  }
}

Value constantBinary(Translator& translator, NumberSlot slot, const Value& left,
                     const Value& right) {
  // No constant has operators of its own for this. (Of two, CPython's error is to name it.)
  bool areConstants = left.isConstant() && right.isConstant();
  if (slot >= nb_inplace_add && !areConstants) return Value::constant(Py_NotImplemented);
  bool formats = slot == nb_remainder && left.isConstant() &&
                 (PyUnicode_Check(left.object()) || PyBytes_Check(left.object()));
  if (!formats && left.isConstant() != right.isConstant()) {
    Value leftData = asData(translator, left), rightData = asData(translator, right);
    if (leftData.isConstant() && rightData.isConstant()) {
      bool leaves = left.isConstant() ? leavesNumber(left.object(), rightData.object())
                                      : leavesNumber(right.object(), leftData.object());
      if (leaves) return Value::constant(Py_NotImplemented);
      // Repetition comes after the operators of numbers, which the program's class may have.
      bool repeats = slot == nb_multiply &&
                     (PySequence_Check(leftData.object()) || PySequence_Check(rightData.object()));
      if (repeats) return Value::constant(Py_NotImplemented);
      return unlessOfTypes(translator, constantBinary(translator, slot, leftData, rightData));
    }
  }
  if (areConstants) {
    if (sizeOfResult(slot, left.object(), right.object()) > kLargestResult) {
      throw GraphBreak(GraphBreakKind::LargeConstant, describe(left) + ", " + describe(right));
    }
    if (slot == nb_remainder) requireSteadyText(right.object());
    auto operate = [&] { return kOperations[slot](left.object(), right.object()); };
    return translator.fromPython(slot == nb_remainder ? withinDigitLimit(right.object(), operate)
                                                      : operate());
  }
  if (slot == nb_remainder && left.isConstant() && PyUnicode_CheckExact(left.object())) {
    return formatPercent(translator, left.object(), right);
  }
  if (slot == nb_remainder && left.isConstant() && PyBytes_Check(left.object())) {
    return unimplemented::binary(translator, slot, left, right);
  }
  // Sets know each other, and the class of the right one is not asked unless it is derived from
  // frozenset.
  if (isTakenAsSet(left, right) && kSetSlots.nb[slot]) {
    return kSetSlots.nb[slot](translator, slot, left, right);
  }
  return Value::constant(Py_NotImplemented);
}

Value constantConcat(Translator& translator, NumberSlot slot, const Value& left,
                     const Value& right) {
  // A constant tuple and a traced one: the same as two traced ones. Where all items turn out to be
  // constants, CPython knows what the sum of the two types is.
  auto* other = partOf<TupleVariable>(right);
  if (left.isConstant() && PyTuple_Check(left.object()) && other) {
    ValueVector added = other->items();
    for (Value& item : added) translator.realize(item);
    bool isEmpty = PyTuple_CheckExact(left.object()) && PyTuple_GET_SIZE(left.object()) == 0;
    if (isEmpty && typeOf(right) == &PyTuple_Type) return right;
    Value sum = makeTuple(translator, added);
    if (sum.isConstant()) {
      return translator.fromPython(PyNumber_Add(left.object(), sum.object()));
    }
    if (PyTuple_CheckExact(left.object())) {
      ValueVector items;
      iterateInto(translator, left, items);
      items.append(added.begin(), added.end());
      return makeTuple(translator, std::move(items));
    }
    return unimplemented::binary(translator, slot, left, right);
  }
  if (!left.isConstant() ||
      !cpython::fillsSlot(Py_TYPE(left.object()), cpython::SpecialSlot::Concat)) {
    return Value::constant(Py_NotImplemented);
  }
  // A subclass of tuple in C may have a text of its own.
  bool isOfSubclass = PyTuple_Check(left.object()) && !PyTuple_CheckExact(left.object());
  if (isOfSubclass || (PyBytes_Check(left.object()) && cpython::showsBuffer(typeOf(right)))) {
    return unimplemented::binary(translator, slot, left, right);
  }
  const char* type = nameOf(translator, Py_TYPE(left.object()));
  const char* added = nameOf(translator, right);
  return PyBytes_Check(left.object())
             ? translator.raise(PyExc_TypeError, "can't concat %.100s to %.100s", added, type)
             : translator.raise(PyExc_TypeError, "can only concatenate %s (not \"%.200s\") to %s",
                                type, added, type);
}

Value constantUnary(Translator& translator, UnarySlot slot, const Value& self) {
  constexpr unaryfunc kFunctions[] = {PyNumber_Negative, PyNumber_Positive, PyNumber_Invert,
                                      PyNumber_Absolute};
  return translator.fromPython(kFunctions[static_cast<int>(slot)](self.object()));
}

Value constantBool(Translator& translator, const Value& self) {
  // Which the program may hear, or have raised.
  if (self.is(Py_NotImplemented)) {
    throw GraphBreak(GraphBreakKind::UnsupportedOperation,
                     "the truth of NotImplemented, of which Python warns");
  }
  int truth = PyObject_IsTrue(self.object());
  return truth < 0 ? translator.raiseFromPython() : Value::boolean(truth);
}

Value constantIndex(Translator& translator, const Value& self) {
  return translator.fromPython(PyNumber_Index(self.object()));
}
Value constantInt(Translator& translator, const Value& self) {
  return translator.fromPython(
      withinDigitLimit(self.object(), [&] { return PyNumber_Long(self.object()); }));
}
Value constantFloat(Translator& translator, const Value& self) {
  return translator.fromPython(PyNumber_Float(self.object()));
}
Value constantStr(Translator& translator, const Value& self) {
  requireSteadyText(self.object());
  return translator.fromPython(
      withinDigitLimit(self.object(), [&] { return PyObject_Str(self.object()); }));
}
Value constantRepr(Translator& translator, const Value& self) {
  requireSteadyText(self.object());
  return translator.fromPython(
      withinDigitLimit(self.object(), [&] { return PyObject_Repr(self.object()); }));
}

Value constantLength(Translator& translator, const Value& self) {
  Py_ssize_t length = PyObject_Size(self.object());
  return length < 0 ? translator.raiseFromPython() : Value::integer(length);
}

// Does it go by its identity, or is it made of what does? (Constants are nested to a small depth
// only.)
bool holdsIdentity(PyObject* constant) {
  if (!PyTuple_Check(constant)) return goesByIdentity(constant);
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(constant); ++i) {
    if (holdsIdentity(PyTuple_GET_ITEM(constant, i))) return true;
  }
  return false;
}

// Constants are nested to a small depth only.
void pinIdentity(Translator& translator, PyObject* constant) {
  if (PyTuple_Check(constant)) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(constant); ++i) {
      pinIdentity(translator, PyTuple_GET_ITEM(constant, i));
    }
    return;
  }
  llvm::ArrayRef<const Source*> sources = translator.constantSources(constant);
  if (sources.empty() || !goesByIdentity(constant)) return;
  for (const Source* source : sources) {
    translator.addGuard(source, GuardType::ID_MATCH, constant);
  }
}

}  // namespace

void pinParts(Translator& translator, PyObject* left, PyObject* right) {
  if (!PyTuple_Check(left) || !PyTuple_Check(right)) return;
  pinIdentity(translator, left);
  pinIdentity(translator, right);
}

namespace {

Value constantHash(Translator& translator, const Value& self) {
  if (holdsIdentity(self.object())) {
    throw GraphBreak(GraphBreakKind::HashOfAddress, describe(self));
  }
  Py_hash_t hash = PyObject_Hash(self.object());
  return hash == -1 ? translator.raiseFromPython() : Value::integer(hash);
}

Value constantCompare(Translator& translator, const Value& left, const Value& right, int op) {
  if (left.isConstant() && right.isConstant()) {
    bool isOfMade = hasMaker(typeOf(left)) && hasMaker(typeOf(right));
    if (isOfMade && (op == Py_EQ || op == Py_NE)) {
      return Value::boolean(isSame(translator, left, right) == (op == Py_EQ));
    }
    pinParts(translator, left.object(), right.object());
    return translator.fromPython(PyObject_RichCompare(left.object(), right.object(), op));
  }
  if (left.isConstant() != right.isConstant()) {
    Value leftData = asData(translator, left), rightData = asData(translator, right);
    if (leftData.isConstant() && rightData.isConstant()) {
      // The left one's own answer: the right operand's class may have another.
      richcmpfunc compare = Py_TYPE(leftData.object())->tp_richcompare;
      if (!compare) return Value::constant(Py_NotImplemented);
      return translator.fromPython(compare(leftData.object(), rightData.object(), op));
    }
  }
  // As a traced set compares.
  if (isTakenAsSet(left, right)) {
    return kSetSlots.tp_richcompare(translator, Value(toSet(translator, left)), right, op);
  }
  // A constant tuple compares with a traced one item by item.
  if (left.isConstant() && PyTuple_Check(left.object()) && partOf<TupleVariable>(right)) {
    return compareSequences(translator, left, right, op);
  }
  return Value::constant(Py_NotImplemented);
}

Value constantSubscript(Translator& translator, const Value& self, const Value& key) {
  if (isSubscriptedForAlias(translator, self.object()))
    return makeGenericAlias(translator, self, key);
  if (PyType_Check(self.object())) {
    static PyObject* const name = staticName("__class_getitem__");
    auto* type = reinterpret_cast<PyTypeObject*>(self.object());
    if (translator.heap.lookup(type, name)) return unimplemented::subscript(translator, self, key);
    return translator.raise(PyExc_TypeError, "type '%.200s' is not subscriptable", type->tp_name);
  }
  if (key.isConstant() && isConstantData(self)) {
    return translator.fromPython(PyObject_GetItem(self.object(), key.object()));
  }
  if (PyTuple_CheckExact(self.object()) || PyUnicode_CheckExact(self.object()) ||
      PyBytes_CheckExact(self.object()) || PyRange_Check(self.object())) {
    // The text of its TypeError is the type's own.
    if (!isSlice(key) && !hasIndex(translator, key)) {
      return unimplemented::subscript(translator, self, key);
    }
    Value index = isSlice(key) ? toConstantSlice(translator, key) : toIndex(translator, key);
    if (!index) return index;
    return translator.fromPython(PyObject_GetItem(self.object(), index.object()));
  }
  if (PySequence_Check(self.object()) || PyMapping_Check(self.object())) {
    return unimplemented::subscript(translator, self, key);
  }
  return translator.raise(PyExc_TypeError, "'%.200s' object is not subscriptable",
                          nameOf(translator, self));
}

// A range asks what is no int of every item (Objects/rangeobject.c, range_contains).
Value rangeContains(Translator& translator, const Value& range, const Value& item) {
  constexpr Py_ssize_t kLongest = 10000;
  Py_ssize_t length = PyObject_Size(range.object());
  if (length < 0 || length > kLongest) {
    clearException();
    throw GraphBreak(GraphBreakKind::LongRangeSearched, describe(item));
  }
  for (Py_ssize_t i = 0; i < length; ++i) {
    Value element = translator.fromPython(PySequence_GetItem(range.object(), i));
    int equal = element ? areEqual(translator, item, element) : -1;
    if (equal < 0) return Value();
    if (equal) return Value::boolean(true);
  }
  return Value::boolean(false);
}

Value constantContains(Translator& translator, const Value& self, const Value& item) {
  PyObject* object = self.object();
  if (item.isConstant()) {
    int result = PySequence_Contains(object, item.object());
    return result < 0 ? translator.raiseFromPython() : Value::boolean(result);
  }
  if (PyTuple_CheckExact(object)) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(object); ++i) {
      Value equal =
          richCompare(translator, Value::constant(PyTuple_GET_ITEM(object, i)), item, Py_EQ);
      int truth = equal ? isTrue(translator, equal) : -1;
      if (truth < 0) return Value();
      if (truth) return Value::boolean(true);
    }
    return Value::boolean(false);
  }
  if (PyFrozenSet_CheckExact(object)) {
    // What is not data equals none of the items, unless its own __hash__ and __eq__ say so.
    Value key;
    Py_hash_t hash;
    Value asked = keyInSet(translator, item);
    if (!realizeKey(translator, keyForLookup(translator, asked), key, hash)) return Value();
    if (isKeyByMethods(key)) {
      OrderedValueMap items;
      for (cpython::SetEntry each; cpython::nextEntry(object, each);) {
        if (each.hash != hash) continue;
        OrderedValueMap::Entry entry;
        entry.key = Value::constant(each.element);
        entry.value = Value::none();
        entry.hash = hash;
        items.append(std::move(entry));
      }
      int32_t index = findKey(translator, items, key, hash);
      return translator.exceptionPending() ? Value()
                                           : Value::boolean(index != OrderedValueMap::kAbsent);
    }
    Ref<> data = keyData(translator, key);
    if (!data && !key.isConstant()) return Value::boolean(false);
    return constantContains(translator, self, data ? Value::constant(data) : key);
  }
  if (PyRange_Check(object)) return rangeContains(translator, self, item);
  Value data = builtinData(translator, item);
  bool mayBeIn = data && (PyUnicode_CheckExact(object)
                              ? PyUnicode_CheckExact(data.object())
                              : PyBytes_Check(data.object()) || PyLong_Check(data.object()));
  if (mayBeIn) return constantContains(translator, self, data);
  if (PyUnicode_CheckExact(object)) {
    requireNoUnknownText(translator, item);
    return translator.raise(PyExc_TypeError,
                            "'in <string>' requires string as left operand, not %.100s",
                            nameOf(translator, item));
  }
  return unimplemented::subscript(translator, self, item);
}

Value constantIterator(Translator& translator, const Value& self) {
  PyObject* object = self.object();
  if (PyTuple_CheckExact(object) || PyUnicode_CheckExact(object) || PyBytes_CheckExact(object) ||
      PyRange_Check(object)) {
    Ref<> real = checked(PyObject_GetIter(object));
    if (PyObject_Size(object) < 0) {
      clearException();  // OverflowError
      throw GraphBreak(GraphBreakKind::HugeRange, describe(self));
    }
    return translator.make<SequenceIteratorVariable>(Py_TYPE(real.get()), self);
  }
  if (isConstant(object) && (PySequence_Check(object) || PyFrozenSet_CheckExact(object))) {
    // Subclasses of tuple that are constants, frozenset: by way of a tuple with the same items in
    // the same order.
    Value items = translator.fromPython(PySequence_Tuple(object));
    if (!items) return items;
    bool isSet = PyFrozenSet_CheckExact(object);
    auto* iterator = translator.make<SequenceIteratorVariable>(
        isSet ? &PySetIter_Type : &PyTupleIter_Type, std::move(items));
    if (isSet) {
      iterator->maker = checked(PyObject_GetAttrString(object, "__iter__"));
    } else {
      iterator->whole = self;
    }
    return iterator;
  }
  if (PyType_Check(object)) {
    return translator.raise(PyExc_TypeError, "'type' object is not iterable");
  }
  return translator.raise(PyExc_TypeError, "'%.200s' object is not iterable",
                          nameOf(translator, Py_TYPE(object)));
}

// --- Attributes.

}  // namespace

void guardModuleClass(Translator& translator, PyObject* module) {
  translator.addGuard(translator.sources->constant(module), GuardType::TYPE_MATCH,
                      reinterpret_cast<PyObject*>(&PyModule_Type));
}

namespace {

Value moduleAttribute(Translator& translator, const Value& module, PyObject* name) {
  guardModuleClass(translator, module.object());
  DictVariable* dict = translator.moduleDict(PyModule_GetDict(module.object()));
  if (Value value = dict->get(translator, name)) return value;
  if (translator.exceptionPending()) return Value();
  if (PyUnicode_CompareWithASCIIString(name, "__dict__") == 0) return dict;
  if (PyUnicode_CompareWithASCIIString(name, "__class__") == 0)
    return typeValue(translator, module);
  if (translator.heap.lookup(&PyModule_Type, name)) {
    throw GraphBreak(GraphBreakKind::AttributeOfConstant, describe(module) + "." + printable(name));
  }
  static PyObject* const getattr = staticName("__getattr__");
  if (dict->has(translator, Value::constant(getattr))) {
    throw GraphBreak(GraphBreakKind::ModuleWithGetattr, describe(module) + "." + printable(name));
  }
  const char* moduleName = PyModule_GetName(module.object());
  if (!moduleName) clearException();
  return translator.raise(PyExc_AttributeError, "module '%s' has no attribute '%U'",
                          moduleName ? moduleName : "?", name);
}

// What an immutable object holds: constants, classes, and tuples of them (int | Point). Null for
// anything else.
Value heldConstant(Translator& translator, PyObject* object) {
  if (isConstantObject(object)) return Value::constant(object);
  if (PyType_Check(object)) return translator.knownClass(reinterpret_cast<PyTypeObject*>(object));
  if (!PyTuple_CheckExact(object)) return Value();
  ValueVector items;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(object); ++i) {
    Value item = heldConstant(translator, PyTuple_GET_ITEM(object, i));
    if (!item) return item;
    items.push_back(std::move(item));
  }
  return makeTuple(translator, std::move(items));
}

// What the program, or its library, has given to an object that is a constant but for its __dict__
// (a ufunc). None if that has no such key, guarded either way.
Value givenAttribute(Translator& translator, PyObject* object, PyObject* name) {
  PyObject** place = cpython::instanceDictPlace(object);
  if (!place) return Value();
  const Source* source =
      translator.sources->path(SourceKind::InstanceDict, translator.sources->constant(object));
  if (!*place) {  // Not even empty: a dict that is made has no other way to it.
    translator.addGuard(source, GuardType::DICT_NOT_CONTAINS, name);
    return Value();
  }
  Value value = translator.realized(translator.wrap(source, *place));
  auto* dict = partOf<DictVariable>(value);
  if (!dict) throw GraphBreak(GraphBreakKind::UnsupportedInstanceDict, describe(value));
  Value given = dict->get(translator, name);
  // What the trace has removed is there still.
  if (!given && !translator.exceptionPending() && cpython::hasOwnAttribute(object, name)) {
    throw GraphBreak(GraphBreakKind::AttributeOfConstant,
                     describe(Value::constant(object)) + "." + printable(name));
  }
  return given;
}

Value constantGetAttribute(Translator& translator, const Value& self, PyObject* name) {
  PyObject* object = self.object();
  if (PyModule_CheckExact(object)) return moduleAttribute(translator, self, name);
  PyObject* found = nullptr;
  if (!PyType_Check(object)) {
    found = translator.heap.lookup(Py_TYPE(object), name).object;
    Value given = givenAttribute(translator, object, name);
    if (translator.exceptionPending()) return Value();
    if (given && found && translator.heap.isDataDescriptor(found)) {
      throw GraphBreak(GraphBreakKind::AttributeOfConstant, describe(self) + "." + printable(name));
    }
    if (given) return given;
  }
  if (found && (Py_TYPE(found) == &PyMethodDescr_Type || Py_TYPE(found) == &PyWrapperDescr_Type)) {
    return translator.make<BoundMethodVariable>(cpython::boundType(found), Value::constant(found),
                                                self);
  }
  // Attributes of static types and of immutable objects are what they are.
  Value result = translator.fromPython(Heap::attributeOfData(object, name).release());
  if (!result) return result;
  bool isKept = Py_REFCNT(result.object()) > 1;  // by the object whose attribute it is, above all
  if (isKept) translator.rememberExisting(result.object());
  if (isKept && found && Py_IS_TYPE(found, &PyMemberDescr_Type) && !isSingleton(result.object())) {
    // The start of a range that came from outside. (Copied: to remember may move what is kept.)
    llvm::SmallVector<const Source*, 2> sources;
    llvm::append_range(sources, translator.constantSources(object));
    for (const Source* source : sources) {
      translator.rememberConstant(result.object(),
                                  translator.sources->item(SourceKind::Descriptor, source, found));
    }
  }
  if (PyType_Check(object) && PyUnicode_CompareWithASCIIString(name, "__dict__") == 0 &&
      Py_TYPE(result.object()) == &PyDictProxy_Type) {
    return classDict(translator, reinterpret_cast<PyTypeObject*>(object));
  }
  Value held = heldConstant(translator, result.object());
  if (held) return held;
  throw GraphBreak(GraphBreakKind::AttributeOfConstant, describe(self) + "." + printable(name));
}

bool constantSetAttribute(Translator& translator, const Value& self, PyObject* name,
                          const Value& value) {
  if (PyModule_CheckExact(self.object())) {
    guardModuleClass(translator, self.object());
    Found found = translator.heap.lookup(typeOf(self), name);
    if (found && translator.heap.isDataDescriptor(found.object)) {
      throw GraphBreak(GraphBreakKind::AssignmentToClassOrDict, describe(self));
    }
    DictVariable* dict = translator.moduleDict(PyModule_GetDict(self.object()));
    if (value) return dict->set(translator, Value::constant(name), value);
    if (dict->remove(translator, Value::constant(name))) return true;
    if (translator.exceptionPending()) return false;
    translator.raise(PyExc_AttributeError, "'%.100s' object has no attribute '%U'",
                     nameOf(translator, typeOf(self)), name);
    return false;
  }
  // No attribute of data can be set, whatever the value; but what the error says of a class follows
  // from it (object_set_class).
  bool isClass = PyUnicode_CompareWithASCIIString(name, "__class__") == 0;
  if (isConstantData(self) && !(value && isClass)) {
    int done = PyObject_GenericSetAttr(self.object(), name, value ? Py_None : nullptr);
    if (done < 0) {
      translator.raiseFromPython();
      return false;
    }
  }
  throw GraphBreak(GraphBreakKind::AssignmentToCObject, describe(self));
}

TypeSlots makeConstantSlots() {
  TypeSlots slots;
  slots.nb.fill(constantBinary);
  slots.nb_unary = constantUnary;
  slots.nb_bool = constantBool;
  slots.nb_index = constantIndex;
  slots.nb_int = constantInt;
  slots.nb_float = constantFloat;
  slots.mp_length = constantLength;
  slots.mp_subscript = constantSubscript;
  slots.sq_contains = constantContains;
  slots.sq_concat = constantConcat;
  slots.tp_iter = constantIterator;
  slots.tp_call = constantCall;
  slots.tp_hash = constantHash;
  slots.tp_richcompare = constantCompare;
  slots.tp_getattro = constantGetAttribute;
  slots.tp_setattro = constantSetAttribute;
  slots.tp_str = constantStr;
  slots.tp_repr = constantRepr;
  return slots;
}

}  // namespace

const TypeSlots kConstantSlots = makeConstantSlots();

}  // namespace armature
