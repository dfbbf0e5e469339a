#include "variables/objects/user_defined.h"

#include <cstring>

#include "core/checked.h"
#include "core/text.h"
#include "cpython/instance_attributes.h"
#include "cpython/type_lookup.h"
#include "variables/constants/constant.h"
#include "variables/containers/sequence.h"
#include "variables/functions/builtin_handlers.h"
#include "variables/functions/functions.h"
#include "variables/functions/library_calls.h"
#include "variables/kind_slots.h"
#include "variables/objects/context_manager.h"
#include "variables/objects/exception.h"
#include "variables/objects/instance_dict.h"
#include "variables/protocol/attribute_protocol.h"
#include "variables/protocol/object_protocol.h"
#include "variables/protocol/operator_methods.h"
#include "variables/trailed.h"

namespace armature {

namespace {

PyObject* name(const char* text) { return staticName(text); }

// --- Classes.

Value foundText(Translator& translator, const Found& found) {
  return found.source ? translator.wrap(found.source, found.object) : Value::constant(found.object);
}

Value tupleOfClasses(Translator& translator, PyObject* tuple) {
  ValueVector classes;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple); ++i) {
    classes.push_back(
        translator.knownClass(reinterpret_cast<PyTypeObject*>(PyTuple_GET_ITEM(tuple, i))));
  }
  return makeTuple(translator, std::move(classes));
}

// What type's own descriptors answer for a class (typeobject.c, type_getsets and type_members).
using ClassGetter = Value (*)(Translator&, PyTypeObject*);
struct ClassAttribute {
  const char* name;
  ClassGetter get;  // null: not modelled
};
constexpr ClassAttribute kClassAttributes[] = {
    {"__name__",
     [](Translator& t, PyTypeObject* type) { return foundText(t, t.heap.nameOf(type)); }},
    {"__qualname__",
     [](Translator& t, PyTypeObject* type) { return foundText(t, t.heap.qualifiedNameOf(type)); }},
    {"__mro__",
     [](Translator& t, PyTypeObject* type) { return tupleOfClasses(t, t.heap.mro(type)); }},
    {"__bases__",
     [](Translator& t, PyTypeObject* type) { return tupleOfClasses(t, t.heap.bases(type)); }},
    {"__base__",
     [](Translator& t, PyTypeObject* type) {
       t.heap.mro(type);
       PyTypeObject* base = cpython::base(type);
       return base ? t.knownClass(base) : Value::none();
     }},
};

// A getset or member descriptor of `type` itself.
Value describedByType(Translator& translator, PyTypeObject* type, PyObject* attribute) {
  for (const ClassAttribute& known : kClassAttributes) {
    if (PyUnicode_CompareWithASCIIString(attribute, known.name) == 0) {
      return known.get(translator, type);
    }
  }
  // type_module and type_get_doc look into the class's own dict.
  bool isModule = PyUnicode_CompareWithASCIIString(attribute, "__module__") == 0;
  if (isModule || PyUnicode_CompareWithASCIIString(attribute, "__doc__") == 0) {
    if (cpython::isImmutable(type)) {
      return translator.fromPython(
          Heap::attributeOfData(reinterpret_cast<PyObject*>(type), attribute).release());
    }
    Found found = translator.heap.lookup(type, attribute);
    bool isOwn = found && cpython::ownAttribute(type, attribute) == found.object;
    if (isOwn && PyUnicode_CheckExact(found.object))
      return translator.wrap(found.source, found.object);
  }
  throw GraphBreak(GraphBreakKind::ComputedClassAttribute,
                   std::string(cpython::nameOf(type)) + "." + printable(attribute));
}

// type_getattro: data descriptors of the metaclass, then the class's MRO, then the metaclass.
Value classAttribute(Translator& translator, const Value& self, PyObject* attribute) {
  auto* variable = llvm::cast<UserClassVariable>(self.tracker());
  PyTypeObject* type = variable->value();
  PyTypeObject* metaclass = Py_TYPE(type);
  Heap& heap = translator.heap;
  static PyObject* const className = name("__class__");
  static PyObject* const getattribute = name("__getattribute__");
  if (!heap.inherits(metaclass, &PyType_Type, getattribute)) {
    throw GraphBreak(GraphBreakKind::MetaclassAttributes, cpython::nameOf(type));
  }
  Found meta = heap.lookup(metaclass, attribute);
  if (meta && heap.isDataDescriptor(meta.object) && heap.hasGet(meta.object)) {
    if (attribute == className) return translator.knownClass(metaclass);
    PyTypeObject* kind = Py_TYPE(meta.object);
    bool isTypes = kind == &PyGetSetDescr_Type || kind == &PyMemberDescr_Type;
    if (isTypes && PyDescr_TYPE(meta.object) == &PyType_Type) {
      return describedByType(translator, type, attribute);
    }
    return bindTypeAttribute(translator, meta, self, metaclass, attribute);
  }
  if (Found found = heap.lookup(type, attribute)) {
    return bindTypeAttribute(translator, found, Value(), type, attribute);
  }
  if (meta) return bindTypeAttribute(translator, meta, self, metaclass, attribute);
  static PyObject* const getattr = name("__getattr__");
  if (heap.lookup(metaclass, getattr)) {
    throw GraphBreak(GraphBreakKind::MetaclassAttributes, cpython::nameOf(type));
  }
  return translator.raise(PyExc_AttributeError, "type object '%.50s' has no attribute '%U'",
                          type->tp_name, attribute);
}

bool runInit(Translator& translator, const Value& instance, CallArguments& arguments) {
  static PyObject* const init = name("__init__");
  Value method = lookupSpecial(translator, instance, init);
  if (!method) return false;
  arguments.tail = false;
  Value result = call(translator, method, arguments);
  if (!result) return false;
  if (!translator.realized(result).is(Py_None)) {
    translator.raise(PyExc_TypeError, "__init__() should return None, not '%.200s'",
                     typeOf(result)->tp_name);
    return false;
  }
  return true;
}

Value makeException(Translator& translator, const Value& callable, PyTypeObject* type,
                    CallArguments& arguments) {
  static PyObject* const init = name("__init__");
  static PyObject* const newName = name("__new__");
  Found newFunction = translator.heap.lookup(type, newName);
  if (newFunction && Py_TYPE(newFunction.object) == &PyStaticMethod_Type) {
    throw GraphBreak(GraphBreakKind::ClassWithNew, type->tp_name);
  }
  auto* exception = translator.make<ExceptionVariable>(
      type, callable, ValueVector(arguments.positional().begin(), arguments.positional().end()));
  Found initFunction = translator.heap.lookup(type, init);
  if (initFunction && PyFunction_Check(initFunction.object)) {
    if (!runInit(translator, exception, arguments)) return Value();
  } else if (arguments.keywordCount()) {
    return translator.raise(PyExc_TypeError, "%.200s() takes no keyword arguments", type->tp_name);
  }
  return exception;
}

// The generated __new__ of a namedtuple class: its fields by position, keyword or default.
Value makeNamedTuple(Translator& translator, UserClassVariable* variable, PyObject* fields,
                     const CallArguments& arguments) {
  PyTypeObject* type = variable->value();
  size_t count = PyTuple_GET_SIZE(fields);
  if (arguments.positionalCount() > count) {
    return translator.raise(PyExc_TypeError,
                            "%.200s.__new__() takes %zu positional arguments but %zu were given",
                            type->tp_name, count + 1, arguments.positionalCount() + 1);
  }
  ValueVector items(count);
  for (size_t i = 0; i < arguments.positionalCount(); ++i) items[i] = arguments.values[i];
  for (size_t i = 0; i < arguments.keywordCount(); ++i) {
    size_t field = 0;
    while (field < count &&
           PyUnicode_Compare(PyTuple_GET_ITEM(fields, field), arguments.keywordName(i)) != 0) {
      ++field;
    }
    if (field == count || items[field]) {
      return translator.raise(PyExc_TypeError,
                              field == count
                                  ? "%.200s.__new__() got an unexpected keyword argument '%U'"
                                  : "%.200s.__new__() got multiple values for argument '%U'",
                              type->tp_name, arguments.keywordName(i));
    }
    items[field] = arguments.keywordValue(i);
  }
  Found defaults = translator.heap.lookup(type, "_field_defaults");
  for (size_t i = 0; i < count; ++i) {
    if (items[i]) continue;
    Found value;
    if (defaults && PyDict_CheckExact(defaults.object)) {
      value = translator.heap.item(defaults.source, defaults.object, PyTuple_GET_ITEM(fields, i));
    }
    if (!value) {
      throw GraphBreak(GraphBreakKind::NamedtupleField, type->tp_name);
    }
    items[i] = translator.wrap(value.source, value.object);
  }
  return translator.make<NamedTupleVariable>(type, std::move(items));
}

// When an object dies depends on Python running the program, so one that notices its end is made
// by Python.
void refuseFinalizer(Translator& translator, PyTypeObject* type) {
  if (!translator.heap.lookup(type, "__del__")) return;
  throw GraphBreak(GraphBreakKind::Finalizer, type->tp_name);
}

// type_call: __new__, then __init__ of the result.
Value callClass(Translator& translator, const Value& callable, CallArguments& arguments) {
  auto* variable = llvm::cast<UserClassVariable>(callable.tracker());
  PyTypeObject* type = variable->value();
  PyObject* real = variable->existing();
  if (BuiltinHandler handler = findHandler(real)) {
    arguments.tail = false;
    return handler(translator, callable, arguments);
  }
  Value result;
  if (callLibrary(translator, callable, arguments, result)) return result;
  static PyObject* const callName = name("__call__");
  PyTypeObject* metaclass = Py_TYPE(type);
  if (!translator.heap.inherits(metaclass, &PyType_Type, callName)) {
    throw GraphBreak(GraphBreakKind::MetaclassCall, type->tp_name);
  }
  refuseFinalizer(translator, type);
  if (translator.heap.isSubtype(type, reinterpret_cast<PyTypeObject*>(PyExc_BaseException))) {
    return makeException(translator, callable, type, arguments);
  }
  static PyObject* const newName = name("__new__");
  static PyObject* const initName = name("__init__");
  PyTypeObject* layout = cpython::staticBase(type);
  if (layout == &PyTuple_Type && cpython::base(type) == &PyTuple_Type) {
    Found fields = translator.heap.lookup(type, "_fields");
    if (fields && PyTuple_CheckExact(fields.object)) {
      // namedtuple: its generated __new__(_cls, …) builds the tuple of its arguments.
      translator.addGuard(fields.source, GuardType::ID_MATCH, fields.object);
      return makeNamedTuple(translator, variable, fields.object, arguments);
    }
  }
  bool isDict = layout == &PyDict_Type || layout == &PyODict_Type;
  bool hasBuiltinNew = translator.heap.inherits(type, layout, newName);
  if ((layout != &PyBaseObject_Type && !isDict) || !hasBuiltinNew) {
    throw GraphBreak(GraphBreakKind::ClassWithNew, type->tp_name);
  }
  if (translator.heap.isAbstract(type)) {
    throw GraphBreak(GraphBreakKind::AbstractInstance, type->tp_name);
  }
  auto* object = translator.make<UserObjectVariable>(variable);
  if (isDict) {
    object->container = translator.make<DictVariable>(layout);
    object->container->instance = object;
  }
  Value instance = object;
  if (translator.heap.inherits(type, &PyBaseObject_Type, initName)) {
    if (!arguments.values.empty()) {
      return translator.raise(PyExc_TypeError, "%.200s() takes no arguments", type->tp_name);
    }
    return instance;
  }
  return runInit(translator, instance, arguments) ? instance : Value();
}

Value classHash(Translator& translator, const Value& self) {
  static PyObject* const special = name("__hash__");
  if (!translator.heap.inherits(typeOf(self), &PyType_Type, special)) {
    throw GraphBreak(GraphBreakKind::MetaclassHashOrText, describe(self));
  }
  // By identity, which is guarded.
  return Value::integer(PyBaseObject_Type.tp_hash(self.tracker()->existing()));
}

Value classRepr(Translator& translator, const Value& self) {
  static PyObject* const special = name("__repr__");
  auto* type = llvm::cast<UserClassVariable>(self.tracker())->value();
  Heap& heap = translator.heap;
  if (!heap.inherits(Py_TYPE(type), &PyType_Type, special)) {
    throw GraphBreak(GraphBreakKind::MetaclassHashOrText, describe(self));
  }
  for (const Found& part : {heap.qualifiedNameOf(type), heap.lookup(type, "__module__")}) {
    if (part.source) translator.addGuard(part.source, GuardType::EQUALS_MATCH, part.object);
  }
  return translator.fromPython(PyObject_Repr(self.tracker()->existing()));
}

// --- Instances.

DictVariable* instanceDict(Translator& translator, const Value& self) {
  auto* object = llvm::cast<UserObjectVariable>(self.tracker());
  if (object->dict) return object->dict;
  DictVariable* dict = nullptr;
  if (object->existing()) {
    dict = existingInstanceDict(translator, object);
    if (!dict) return nullptr;
  } else {
    if (!cpython::hasInstanceDict(object->type())) return nullptr;
    dict = translator.make<DictVariable>(static_cast<VariableTracker*>(object));
  }
  assignTrailed(translator.trail, object->dict, dict);
  return dict;
}

// Calls a special method; null without a pending exception if the type has none.
Value callSpecial(Translator& translator, const Value& self, PyObject* special,
                  llvm::ArrayRef<Value> arguments) {
  Value method = lookupSpecial(translator, self, special);
  if (!method) return method;
  // Looked at here: NotImplemented may come from a global.
  return translator.realized(call(translator, method, arguments));
}

// slot_nb_add and its like of typeobject.c.
Value objectBinary(Translator& translator, NumberSlot slot, const Value& left, const Value& right) {
  const OperatorMethods& names = operatorMethods();
  auto tryCall = [&](const Value& self, PyObject* method, const Value& other) {
    Value result = callSpecial(translator, self, method, {other});
    if (!result && !translator.exceptionPending()) result = Value::constant(Py_NotImplemented);
    return result;
  };
  if (slot >= nb_inplace_add) {
    if (!trackerOf<UserObjectVariable>(left)) return Value::constant(Py_NotImplemented);
    return tryCall(left, names.inPlace[slot - nb_inplace_add], right);
  }
  bool leftIsObject = trackerOf<UserObjectVariable>(left) != nullptr;
  bool rightIsObject = trackerOf<UserObjectVariable>(right) != nullptr;
  PyTypeObject* leftType = typeOf(left);
  PyTypeObject* rightType = typeOf(right);
  bool rightFirst = leftIsObject && rightIsObject && leftType != rightType &&
                    translator.heap.isSubtype(rightType, leftType) &&
                    !translator.heap.inherits(rightType, leftType, names.reflected[slot]);
  if (rightFirst) {
    Value result = tryCall(right, names.reflected[slot], left);
    if (!result.is(Py_NotImplemented)) return result;
  }
  if (leftIsObject) {
    Value result = tryCall(left, names.plain[slot], right);
    if (!result.is(Py_NotImplemented)) return result;
  }
  if (rightIsObject && !rightFirst && leftType != rightType) {
    return tryCall(right, names.reflected[slot], left);
  }
  return Value::constant(Py_NotImplemented);
}

Value objectUnary(Translator& translator, UnarySlot slot, const Value& self) {
  static constexpr const char* kSymbols[] = {"unary -", "unary +", "unary ~", "abs()"};
  Value result = callSpecial(translator, self, unaryMethod(slot), {});
  if (!result && !translator.exceptionPending()) {
    return translator.raise(PyExc_TypeError, "bad operand type for %s: '%.200s'",
                            kSymbols[static_cast<int>(slot)], typeOf(self)->tp_name);
  }
  return result;
}

Value objectLength(Translator& translator, const Value& self) {
  static PyObject* const len = name("__len__");
  Value result = callSpecial(translator, self, len, {});
  if (!result) {
    if (translator.exceptionPending()) return result;
    return translator.raise(PyExc_TypeError, "object of type '%.200s' has no len()",
                            typeOf(self)->tp_name);
  }
  result = toIndex(translator, result);
  if (!result) return result;
  if (Py_SIZE(result.object()) < 0) {
    return translator.raise(PyExc_ValueError, "__len__() should return >= 0");
  }
  Py_ssize_t size = PyNumber_AsSsize_t(result.object(), PyExc_OverflowError);
  return size < 0 ? translator.raiseFromPython() : result;
}

Value objectBool(Translator& translator, const Value& self) {
  static PyObject* const boolName = name("__bool__");
  static PyObject* const len = name("__len__");
  Value result = callSpecial(translator, self, boolName, {});
  if (result) {
    translator.realize(result);
    if (result.isConstant() && PyBool_Check(result.object())) return result;
    return translator.raise(PyExc_TypeError, "__bool__ should return bool, returned %s",
                            typeOf(result)->tp_name);
  }
  if (translator.exceptionPending()) return result;
  if (!translator.heap.lookup(typeOf(self), len)) return Value::boolean(true);
  result = objectLength(translator, self);
  return result ? Value::boolean(PyObject_IsTrue(result.object())) : result;
}

// What a special method returned, if it is an instance of the builtin type that it has to be.
// Otherwise raises TypeError with the message, a format of that type's name.
Value requireType(Translator& translator, Value result, PyTypeObject* type, const char* message) {
  if (!result || typeOf(result) == type) return result;
  if (!PyType_IsSubtype(typeOf(result), type)) {
    return translator.raise(PyExc_TypeError, message, typeOf(result)->tp_name);
  }
  throw GraphBreak(GraphBreakKind::SpecialMethodResult, describe(result));
}

Value objectConversion(Translator& translator, const Value& self, PyObject* special,
                       const char* message) {
  Value result = callSpecial(translator, self, special, {});
  if (!result && !translator.exceptionPending()) {
    return translator.raise(PyExc_TypeError, message, typeOf(self)->tp_name);
  }
  return result;
}
Value objectIndex(Translator& translator, const Value& self) {
  static PyObject* const special = name("__index__");
  return requireType(translator,
                     objectConversion(translator, self, special,
                                      "'%.200s' object cannot be interpreted as an integer"),
                     &PyLong_Type, "__index__ returned non-int (type %.200s)");
}
Value objectInt(Translator& translator, const Value& self) {
  static PyObject* const special = name("__int__");
  return requireType(
      translator,
      objectConversion(
          translator, self, special,
          "int() argument must be a string, a bytes-like object or a real number, not '%.200s'"),
      &PyLong_Type, "__int__ returned non-int (type %.200s)");
}
Value objectFloat(Translator& translator, const Value& self) {
  static PyObject* const special = name("__float__");
  Value result =
      objectConversion(translator, self, special,
                       "float() argument must be a string or a real number, not '%.200s'");
  std::string message = std::string(typeOf(self)->tp_name).substr(0, 50) +
                        ".__float__ returned non-float (type %.50s)";
  return requireType(translator, std::move(result), &PyFloat_Type, message.c_str());
}

Value objectSubscript(Translator& translator, const Value& self, const Value& key) {
  static PyObject* const special = name("__getitem__");
  Value result = callSpecial(translator, self, special, {key});
  if (!result && !translator.exceptionPending()) {
    return translator.raise(PyExc_TypeError, "'%.200s' object is not subscriptable",
                            typeOf(self)->tp_name);
  }
  return result;
}

bool objectAssignSubscript(Translator& translator, const Value& self, const Value& key,
                           const Value& value) {
  static PyObject* const set = name("__setitem__");
  static PyObject* const del = name("__delitem__");
  Value result = value ? callSpecial(translator, self, set, {key, value})
                       : callSpecial(translator, self, del, {key});
  if (!result && !translator.exceptionPending()) {
    translator.raise(PyExc_TypeError, "'%.200s' object does not support item %s",
                     typeOf(self)->tp_name, value ? "assignment" : "deletion");
  }
  return static_cast<bool>(result);
}

Value objectContains(Translator& translator, const Value& self, const Value& item) {
  static PyObject* const special = name("__contains__");
  Found found = translator.heap.lookup(typeOf(self), special);
  if (found && found.object == Py_None) {
    return translator.raise(PyExc_TypeError, "'%.200s' object is not a container",
                            typeOf(self)->tp_name);
  }
  if (found) {
    Value result = callSpecial(translator, self, special, {item});
    if (!result) return result;
    int truth = isTrue(translator, result);
    return truth < 0 ? Value() : Value::boolean(truth);
  }
  Value iterator = getIterator(translator, self);
  if (!iterator) return iterator;
  while (Value element = iteratorNext(translator, iterator)) {
    translator.realize(element);
    if (element.sameAs(item)) return Value::boolean(true);
    Value equal = richCompare(translator, element, item, Py_EQ);
    int truth = equal ? isTrue(translator, equal) : -1;
    if (truth < 0) return Value();
    if (truth) return Value::boolean(true);
  }
  return translator.exceptionPending() ? Value() : Value::boolean(false);
}

Value objectIterator(Translator& translator, const Value& self) {
  static PyObject* const iter = name("__iter__");
  static PyObject* const getitem = name("__getitem__");
  Found iterFound = translator.heap.lookup(typeOf(self), iter);
  Value result =
      iterFound && iterFound.object == Py_None ? Value() : callSpecial(translator, self, iter, {});
  if (!result && !translator.exceptionPending()) {
    if (!iterFound && translator.heap.lookup(typeOf(self), getitem)) {
      throw GraphBreak(GraphBreakKind::IterationThroughGetitem, describe(self));
    }
    return translator.raise(PyExc_TypeError, "'%.200s' object is not iterable",
                            typeOf(self)->tp_name);
  }
  return result;
}

Value objectNext(Translator& translator, const Value& self) {
  static PyObject* const special = name("__next__");
  Value result = callSpecial(translator, self, special, {});
  if (result) return result;
  if (!translator.exceptionPending()) {
    return translator.raise(PyExc_TypeError, "'%.200s' object is not an iterator",
                            typeOf(self)->tp_name);
  }
  if (translator.heap.isSubtype(typeOf(translator.exception()),
                                reinterpret_cast<PyTypeObject*>(PyExc_StopIteration))) {
    translator.takeException();
  }
  return Value();
}

Value callObject(Translator& translator, const Value& callable, CallArguments& arguments) {
  static PyObject* const special = name("__call__");
  Value method = lookupSpecial(translator, callable, special);
  if (!method) {
    return translator.raise(PyExc_TypeError, "'%.200s' object is not callable",
                            typeOf(callable)->tp_name);
  }
  return call(translator, method, arguments);
}

Value objectCompare(Translator& translator, const Value& left, const Value& right, int op) {
  PyTypeObject* type = typeOf(left);
  Heap& heap = translator.heap;
  if (heap.inherits(type, &PyBaseObject_Type, compareMethod(op))) {
    // object's own: __ne__ inverts __eq__, the others know identity alone.
    if (op == Py_NE && !heap.inherits(type, &PyBaseObject_Type, compareMethod(Py_EQ))) {
      Value equal = callSpecial(translator, left, compareMethod(Py_EQ), {right});
      if (!equal || equal.is(Py_NotImplemented)) return equal;
      int truth = isTrue(translator, equal);
      return truth < 0 ? Value() : Value::boolean(!truth);
    }
    if (op == Py_EQ && isSame(translator, left, right)) return Value::boolean(true);
    return Value::constant(Py_NotImplemented);
  }
  return callSpecial(translator, left, compareMethod(op), {right});
}

Value objectHash(Translator& translator, const Value& self) {
  static PyObject* const special = name("__hash__");
  Found found = translator.heap.lookup(typeOf(self), special);
  if (found.object == Py_None) {
    return translator.raise(PyExc_TypeError, "unhashable type: '%.200s'", typeOf(self)->tp_name);
  }
  if (found.object == cpython::lookup(&PyBaseObject_Type, special)) {
    throw GraphBreak(GraphBreakKind::HashOfAddress, describe(self));
  }
  Value result = requireType(translator, callSpecial(translator, self, special, {}), &PyLong_Type,
                             "__hash__ method should return an integer");
  if (!result) return result;
  // slot_tp_hash: what does not fit is hashed itself, and -1 stands for an error.
  Py_hash_t hash = PyLong_AsSsize_t(result.object());
  if (hash == -1 && PyErr_Occurred()) {
    PyErr_Clear();
    hash = PyObject_Hash(result.object());
  }
  return Value::integer(hash == -1 ? -2 : hash);
}

Value objectText(Translator& translator, const Value& self, PyObject* special) {
  Found found = translator.heap.lookup(typeOf(self), special);
  if (found && PyFunction_Check(found.object)) {
    static PyObject* const str = name("__str__");
    return requireType(translator, callSpecial(translator, self, special, {}), &PyUnicode_Type,
                       special == str ? "__str__ returned non-string (type %.200s)"
                                      : "__repr__ returned non-string (type %.200s)");
  }
  static PyObject* const repr = name("__repr__");
  if (special != repr) {
    found = translator.heap.lookup(typeOf(self), repr);
    if (found && PyFunction_Check(found.object)) return objectText(translator, self, repr);
  }
  throw GraphBreak(GraphBreakKind::TextOfObject, describe(self));
}
Value objectStr(Translator& translator, const Value& self) {
  static PyObject* const special = name("__str__");
  return objectText(translator, self, special);
}
Value objectRepr(Translator& translator, const Value& self) {
  static PyObject* const special = name("__repr__");
  return objectText(translator, self, special);
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

TypeSlots makeClassSlots() {
  TypeSlots slots;
  slots.nb[nb_or] = unimplemented::binary;
  slots.tp_getattro = classAttribute;
  slots.tp_setattro = unimplemented::setAttribute;
  slots.tp_call = callClass;
  slots.tp_hash = classHash;
  slots.tp_repr = classRepr;
  slots.mp_subscript = unimplemented::subscript;
  slots.tp_iter = unimplemented::unary;
  slots.mp_length = nullptr;
  return slots;
}

TypeSlots makeObjectSlots() {
  TypeSlots slots;
  slots.nb.fill(objectBinary);
  slots.nb_unary = objectUnary;
  slots.nb_bool = objectBool;
  slots.nb_index = objectIndex;
  slots.nb_int = objectInt;
  slots.nb_float = objectFloat;
  slots.mp_length = objectLength;
  slots.mp_subscript = objectSubscript;
  slots.mp_ass_subscript = objectAssignSubscript;
  slots.sq_contains = objectContains;
  slots.tp_iter = objectIterator;
  slots.tp_iternext = objectNext;
  slots.tp_call = callObject;
  slots.tp_hash = objectHash;
  slots.tp_richcompare = objectCompare;
  slots.tp_setattro = setObjectAttribute;
  slots.instanceDict = instanceDict;
  slots.tp_str = objectStr;
  slots.tp_repr = objectRepr;
  return slots;
}

Value callOpaque(Translator& translator, const Value& callable, CallArguments& arguments) {
  if (BuiltinHandler handler = findInstanceHandler(callable.tracker()->type())) {
    return handler(translator, callable, arguments);
  }
  return unimplemented::call(translator, callable, arguments);
}

// An opaque object can be handed on; whatever looks inside is a break.
TypeSlots makeOpaqueSlots() {
  TypeSlots slots;
  slots.nb.fill(unimplemented::binary);
  slots.nb_unary = unimplemented::unaryOperation;
  slots.nb_bool = unimplemented::unary;
  slots.nb_index = unimplemented::unary;
  slots.nb_int = unimplemented::unary;
  slots.nb_float = unimplemented::unary;
  slots.mp_length = unimplemented::unary;
  slots.mp_subscript = unimplemented::subscript;
  slots.mp_ass_subscript = unimplemented::assignSubscript;
  slots.sq_contains = unimplemented::subscript;
  slots.sq_concat = unimplemented::binary;
  slots.sq_repeat = unimplemented::binary;
  slots.tp_iter = unimplemented::unary;
  slots.tp_iternext = unimplemented::unary;
  slots.tp_call = callOpaque;
  slots.tp_hash = unimplemented::unary;
  slots.tp_richcompare = unimplemented::compare;
  slots.tp_getattro = unimplemented::getAttribute;
  slots.tp_setattro = unimplemented::setAttribute;
  return slots;
}

// --- object's own methods, reached through super() or object.__setattr__.

// As CPython's object_init: whether arguments are too many depends on what else would take them.
Value objectInitMethod(Translator& translator, const Value& self, CallArguments& arguments) {
  if (arguments.values.empty()) return Value::none();
  static PyObject* const newName = name("__new__");
  static PyObject* const initName = name("__init__");
  PyTypeObject* type = typeOf(self);
  if (!translator.heap.inherits(type, &PyBaseObject_Type, initName)) {
    return translator.raise(
        PyExc_TypeError,
        "object.__init__() takes exactly one argument (the instance to initialize)");
  }
  if (translator.heap.inherits(type, &PyBaseObject_Type, newName)) {
    return translator.raise(PyExc_TypeError, "%.200s() takes no arguments", type->tp_name);
  }
  return Value::none();
}

// PyObject_GenericSetAttr, or a break for what the trace cannot look into.
bool setGenerically(Translator& translator, const Value& self, PyObject* name, const Value& value) {
  Value object = translator.realized(self);
  if (slotsOf(object).tp_setattro == unimplemented::setAttribute) {
    return unimplemented::setAttribute(translator, object, name, value);
  }
  return genericSetAttribute(translator, object, name, value);
}

Value objectSetattrMethod(Translator& translator, const Value& self, CallArguments& arguments) {
  if (arguments.positionalCount() != 2) {
    return translator.raise(PyExc_TypeError, "expected 2 arguments, got %zu",
                            arguments.positionalCount());
  }
  Value attribute = readAttributeName(translator, arguments.values[0]);
  if (!attribute) return attribute;
  return setGenerically(translator, self, attribute.object(), arguments.values[1]) ? Value::none()
                                                                                   : Value();
}

Value objectDelattrMethod(Translator& translator, const Value& self, CallArguments& arguments) {
  if (!checkArgumentCount(translator, "__delattr__", arguments, 1, 1)) return Value();
  Value attribute = readAttributeName(translator, arguments.values[0]);
  if (!attribute) return attribute;
  return setGenerically(translator, self, attribute.object(), Value()) ? Value::none() : Value();
}

Value objectGetattributeMethod(Translator& translator, const Value& self,
                               CallArguments& arguments) {
  if (!checkArgumentCount(translator, "__getattribute__", arguments, 1, 1)) return Value();
  Value attribute = readAttributeName(translator, arguments.values[0]);
  if (!attribute) return attribute;
  Value object = translator.realized(self);
  if (slotsOf(object).tp_getattro == unimplemented::getAttribute) {
    return unimplemented::getAttribute(translator, object, attribute.object());
  }
  return genericGetAttribute(translator, object, attribute.object());
}

void registerObjectHandlers() {
  registerMethodHandler(&PyBaseObject_Type, "__init__", objectInitMethod);
  registerMethodHandler(&PyBaseObject_Type, "__setattr__", objectSetattrMethod);
  registerMethodHandler(&PyBaseObject_Type, "__delattr__", objectDelattrMethod);
  registerMethodHandler(&PyBaseObject_Type, "__getattribute__", objectGetattributeMethod);
}
ARMATURE_REGISTER_HANDLERS(registerObjectHandlers);

}  // namespace

const TypeSlots kUserClassSlots = makeClassSlots();
const TypeSlots kUserObjectSlots = makeObjectSlots();
const TypeSlots kOpaqueSlots = makeOpaqueSlots();
const TypeSlots kPropertySlots = makeOpaqueSlots();

}  // namespace armature
