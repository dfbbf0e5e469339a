#include "variables/functions/functions.h"
#include "variables/constants/calling_conventions.h"

#include "core/text.h"
#include "cpython/c_functions.h"
#include "cpython/type_lookup.h"
#include "variables/constants/constant.h"
#include "variables/containers/dict.h"
#include "variables/containers/sequence.h"
#include "variables/ends_of_objects.h"
#include "variables/functions/builtin_handlers.h"
#include "variables/functions/library_calls.h"
#include "variables/kind_slots.h"
#include "variables/objects/context_manager.h"
#include "variables/objects/exception.h"
#include "variables/objects/user_defined.h"
#include "variables/protocol/attribute_protocol.h"
#include "variables/protocol/object_protocol.h"
#include "variables/protocol/slot_wrappers.h"
#include "variables/tensors/tensor.h"
#include "variables/trailed.h"

namespace armature {

const Value& NewCellVariable::read(Translator& translator) const {
  bool isWritten = translator.effects.last(this) != SideEffects::kNone;
  if (existing() && source() && !isWritten) translator.heap.isSet(source(), existing());
  return contents_;
}

void NewCellVariable::store(Translator& translator, Value contents) {
  if (translator.effects.concerns(this) && translator.effects.last(this) == SideEffects::kNone) {
    letGo(translator, contents_);
    translator.effects.append({EffectKind::CellStore, this, {}, {}});
  }
  assignTrailed(translator.trail, contents_, std::move(contents));
}

namespace {

Value selfIterator(Translator&, const Value& self) { return self; }

// --- Python functions.

Value callFunction(Translator& translator, const Value& callable, CallArguments& arguments) {
  auto* function = requireKind<UserFunctionVariable>(callable);
  if (PyObject* real = function->existing()) {
    Value result;
    if (callManagerMethod(translator, callable, arguments, result)) return result;
    if (BuiltinHandler handler = findHandler(real)) {
      guardCallee(translator, callable);
      arguments.tail = false;
      return handler(translator, Value(), arguments);
    }
    if (callLibrary(translator, callable, arguments, result)) return result;
  }
  return translator.callUserFunction(function, arguments);
}

// The parts of a function object that its descriptors show (funcobject.c, func_memberlist and
// func_getsetlist).
struct FunctionAttribute {
  const char* name;
  SourceKind part;
};
constexpr FunctionAttribute kFunctionAttributes[] = {
    {"__name__", SourceKind::FunctionName},
    {"__qualname__", SourceKind::FunctionQualifiedName},
    {"__module__", SourceKind::FunctionModule},
    {"__doc__", SourceKind::FunctionDoc},
    {"__code__", SourceKind::FunctionCode},
    {"__defaults__", SourceKind::FunctionDefaults},
    {"__kwdefaults__", SourceKind::FunctionKwDefaults},
    {"__globals__", SourceKind::FunctionGlobals},
};

const FunctionAttribute* findFunctionAttribute(PyObject* name) {
  for (const FunctionAttribute& attribute : kFunctionAttributes) {
    if (PyUnicode_CompareWithASCIIString(name, attribute.name) == 0) return &attribute;
  }
  return nullptr;
}

Value orNone(const Value& value) { return value ? value : Value::none(); }

// A part of a function that the trace made.
Value partOfNew(Translator& translator, UserFunctionVariable* function, SourceKind part) {
  switch (part) {
    case SourceKind::FunctionName:
      return Value::constant(function->code->name);
    case SourceKind::FunctionQualifiedName:
      return Value::constant(function->code->qualifiedName);
    case SourceKind::FunctionModule:
      return orNone(function->globals->get(translator, Value::string("__name__")));
    case SourceKind::FunctionDoc: {
      const auto& constants = function->code->constants;
      bool has = !constants.empty() && PyUnicode_CheckExact(constants[0].get());
      return has ? Value::constant(constants[0]) : Value::none();
    }
    case SourceKind::FunctionCode:
      return Value::constant(reinterpret_cast<PyObject*>(function->code->original.get()));
    default:
      return part == SourceKind::FunctionDefaults ? orNone(function->defaults)
                                                  : orNone(function->keywordDefaults);
  }
}

// An attribute that the function makes when it is asked for.
Value madeOnDemand(Translator& translator, UserFunctionVariable* function, const char* name) {
  auto* real = reinterpret_cast<PyFunctionObject*>(function->existing());
  Found found = translator.heap.madeOnDemand(function->source(), real, name);
  if (!found) throw PendingPythonException();
  return translator.wrap(found.source, found.object);
}

// func.__dict__
DictVariable* dictOf(Translator& translator, UserFunctionVariable* function) {
  if (function->existing()) {
    return requireKind<DictVariable>(
        translator.realized(madeOnDemand(translator, function, "__dict__")));
  }
  if (!function->dict) {
    assignTrailed(translator.trail, function->dict, translator.make<DictVariable>(function));
  }
  return function->dict;
}

bool setMember(Translator& translator, UserFunctionVariable* function, PyObject* name,
               const Value& value) {
  if (!function->members) {
    assignTrailed(translator.trail, function->members, translator.make<DictVariable>());
  }
  return function->members->set(translator, Value::constant(name), value);
}

// func_get_annotation_dict. MAKE_FUNCTION was given names and annotations in turn.
Value annotationsOf(Translator& translator, UserFunctionVariable* function) {
  if (function->existing()) return madeOnDemand(translator, function, "__annotations__");
  ValueVector parts;
  if (function->annotations && !iterateInto(translator, function->annotations, parts)) {
    return Value();
  }
  auto* dict = translator.make<DictVariable>();
  for (size_t i = 0; i + 1 < parts.size(); i += 2) dict->set(translator, parts[i], parts[i + 1]);
  static PyObject* const name = staticName("__annotations__");
  setMember(translator, function, name, dict);
  return dict;
}

Value functionAttribute(Translator& translator, const Value& self, PyObject* name) {
  auto* function = requireKind<UserFunctionVariable>(self);
  if (function->members) {
    if (Value value = function->members->get(translator, name)) return value;
  }
  if (PyUnicode_CompareWithASCIIString(name, "__annotations__") == 0) {
    return annotationsOf(translator, function);
  }
  if (PyUnicode_CompareWithASCIIString(name, "__dict__") == 0) {
    return translator.dictValue(dictOf(translator, function));
  }
  if (PyUnicode_CompareWithASCIIString(name, "__class__") == 0) return typeValue(translator, self);
  if (PyUnicode_CompareWithASCIIString(name, "__get__") == 0) {
    PyObject* method = cpython::ownAttribute(&PyFunction_Type, "__get__");
    return translator.make<BoundMethodVariable>(cpython::boundType(method), Value::constant(method),
                                                self);
  }
  auto* real = reinterpret_cast<PyFunctionObject*>(function->existing());
  if (const FunctionAttribute* attribute = findFunctionAttribute(name)) {
    if (attribute->part == SourceKind::FunctionGlobals) return function->globals;
    if (!real) return partOfNew(translator, function, attribute->part);
    Found found = translator.heap.part(function->source(), real, attribute->part);
    return translator.wrap(found.source, found.object);
  }
  if (cpython::lookup(&PyFunction_Type, name)) {
    throw GraphBreak(GraphBreakKind::AttributeOfFunction,
                     std::string("function.") + printable(name));
  }
  if (real || function->dict) {
    if (Value value = dictOf(translator, function)->get(translator, name)) return value;
  }
  return translator.raise(PyExc_AttributeError, "'function' object has no attribute '%U'", name);
}

bool setFunctionAttribute(Translator& translator, const Value& self, PyObject* name,
                          const Value& value) {
  auto* function = requireKind<UserFunctionVariable>(self);
  if (!cpython::lookup(&PyFunction_Type, name)) {
    DictVariable* dict = dictOf(translator, function);
    if (value) return dict->set(translator, Value::constant(name), value);
    if (dict->remove(translator, Value::constant(name))) return true;
    if (translator.exceptionPending()) return false;
    translator.raise(PyExc_AttributeError, "'function' object has no attribute '%U'", name);
    return false;
  }
  // func_set_name and func_set_qualname.
  bool isName = PyUnicode_CompareWithASCIIString(name, "__name__") == 0 ||
                PyUnicode_CompareWithASCIIString(name, "__qualname__") == 0;
  if (isName &&
      (!value || !translator.heap.isSubtype(typeOf(translator.realized(value)), &PyUnicode_Type))) {
    translator.raise(PyExc_TypeError, "%U must be set to a string object", name);
    return false;
  }
  bool settable = isName || PyUnicode_CompareWithASCIIString(name, "__doc__") == 0 ||
                  PyUnicode_CompareWithASCIIString(name, "__module__") == 0;
  if (PyUnicode_CompareWithASCIIString(name, "__annotations__") == 0) {
    auto* dict = trackerOf<DictVariable>(translator.realized(value));
    settable = dict && dict->type() == &PyDict_Type;
  }
  if (PyUnicode_CompareWithASCIIString(name, "__defaults__") == 0 && !function->existing()) {
    // func_set_defaults
    Value defaults = value ? translator.realized(value) : Value::none();
    bool isTuple = typeOf(defaults) == &PyTuple_Type;
    if (isTuple || defaults.is(Py_None)) {
      recordUndo(translator.trail,
                 [function, before = function->defaults] { function->defaults = before; });
      function->defaults = isTuple ? defaults : Value();
      return true;
    }
  }
  if (function->existing() || !settable || !value) {
    throw GraphBreak(GraphBreakKind::AssignmentToFunction, describe(self));
  }
  return setMember(translator, function, name, value);
}

// --- Bound methods.

Value callBound(Translator& translator, const Value& callable, CallArguments& arguments) {
  auto* method = requireKind<BoundMethodVariable>(callable);
  if (trackerOf<TensorVariable>(method->self) && method->function.isConstant() &&
      PyUnicode_CheckExact(method->function.object())) {
    return callTensorMethod(translator, method->self, method->function.object(), arguments);
  }
  // The error names the class of the object, not the one that has the method.
  PyObject* inC = method->type() == &PyCFunction_Type ? method->function.objectOrNull() : nullptr;
  bool isInherited =
      inC && Py_IS_TYPE(inC, &PyMethodDescr_Type) && PyDescr_TYPE(inC) != typeOf(method->self);
  if (isInherited && isRefused(inC, arguments)) {
    throw GraphBreak(GraphBreakKind::UnsupportedOperation, describe(callable));
  }
  arguments.values.insert(arguments.values.begin(), method->self);
  return call(translator, method->function, arguments);
}

Value boundAttribute(Translator& translator, const Value& self, PyObject* name) {
  auto* method = requireKind<BoundMethodVariable>(self);
  if (PyUnicode_CompareWithASCIIString(name, "__self__") == 0) return method->self;
  if (PyUnicode_CompareWithASCIIString(name, "__func__") == 0 && method->type() == &PyMethod_Type) {
    return method->function;
  }
  bool isDoc = PyUnicode_CompareWithASCIIString(name, "__doc__") == 0;
  // A method of Python code shows the attributes of its function; a C method has its own, of which
  // only the name is that of its descriptor.
  bool shown = method->type() == &PyMethod_Type
                   ? !cpython::lookup(&PyMethod_Type, name) || isDoc
                   : PyUnicode_CompareWithASCIIString(name, "__name__") == 0 &&
                         !trackerOf<TensorVariable>(method->self);
  if (!shown) return unimplemented::getAttribute(translator, self, name);
  return getAttribute(translator, method->function, name);
}

// What a bound method calls; of an array's method, which is known by its name, the descriptor.
Value calledBy(Translator& translator, const BoundMethodVariable& method) {
  PyObject* name = method.function.objectOrNull();
  if (!name || !PyUnicode_CheckExact(name)) return method.function;
  PyObject* descriptor = translator.heap.lookup(typeOf(method.self), name).object;
  return descriptor ? Value::constant(descriptor) : method.function;
}

Value compareBound(Translator& translator, const Value& left, const Value& right, int op) {
  auto* a = trackerOf<BoundMethodVariable>(left);
  auto* b = trackerOf<BoundMethodVariable>(right);
  if (!a || !b || (op != Py_EQ && op != Py_NE)) return Value::constant(Py_NotImplemented);
  bool equal = isSame(translator, a->self, b->self) &&
               isSame(translator, calledBy(translator, *a), calledBy(translator, *b));
  return Value::boolean(equal == (op == Py_EQ));
}

// --- Generators.

Value nextOfGenerator(Translator& translator, const Value& self) {
  return translator.resumeGenerator(requireKind<GeneratorVariable>(self), Value(), false);
}

// generator.send(value)
Value sendToGenerator(Translator& translator, const Value& self, CallArguments& arguments) {
  auto* generator = trackerOf<GeneratorVariable>(self);
  if (!generator) return unimplemented::unary(translator, self);
  if (!checkArgumentCount(translator, "generator.send", arguments, 1, 1)) return Value();
  Value item = translator.resumeGenerator(generator, translator.realized(arguments.values[0]),
                                          arguments.tail);
  return item ? item : raiseStopIteration(translator, self);
}

// generator.throw(type[, value[, traceback]])
Value throwIntoGenerator(Translator& translator, const Value& self, CallArguments& arguments) {
  auto* generator = trackerOf<GeneratorVariable>(self);
  if (!generator) return unimplemented::unary(translator, self);
  if (!checkArgumentCount(translator, "throw", arguments, 1, 3)) return Value();
  Value item = translator.throwInto(generator, arguments.values, arguments.tail);
  return item ? item : raiseStopIteration(translator, self);
}

Value closeGenerator(Translator& translator, const Value& self, CallArguments& arguments) {
  auto* generator = trackerOf<GeneratorVariable>(self);
  if (!generator) return unimplemented::unary(translator, self);
  if (!checkArgumentCount(translator, "generator.close", arguments, 0, 0)) return Value();
  return translator.closeGenerator(generator) ? Value::none() : Value();
}

}  // namespace

Value leaveGenerator(Translator& translator, const Value& generator, Value result) {
  auto* left = requireKind<GeneratorVariable>(generator);
  if (left->state != GeneratorVariable::State::Finished) return result;
  if (!translator.exceptionPending()) return raiseStopIteration(translator, generator);
  auto* stopType = reinterpret_cast<PyTypeObject*>(PyExc_StopIteration);
  if (!translator.heap.isSubtype(typeOf(translator.realized(translator.exception())), stopType)) {
    return Value();
  }
  Value cause = translator.takeException();
  if (auto* stop = trackerOf<ExceptionVariable>(cause)) settleContext(translator, *stop);
  translator.raise(PyExc_RuntimeError, "generator raised StopIteration");
  auto* error = requireKind<ExceptionVariable>(translator.exception());
  setContext(translator, *error, cause);
  setCause(translator, *error, cause);
  return Value();
}

bool takeStopIteration(Translator& translator, Value& returned) {
  if (!translator.exceptionPending()) {
    if (!returned) returned = Value::none();
    return true;
  }
  auto* stop = reinterpret_cast<PyTypeObject*>(PyExc_StopIteration);
  if (!translator.heap.isSubtype(typeOf(translator.realized(translator.exception())), stop)) {
    return false;
  }
  returned = stopIterationValue(translator, translator.exception());
  translator.dropException();
  return true;
}

Value endDelegation(Translator& translator, Value item) {
  if (item) return makeTuple(translator, {Value::boolean(false), std::move(item)});
  Value returned;
  if (!takeStopIteration(translator, returned)) return Value();
  return makeTuple(translator, {Value::boolean(true), std::move(returned)});
}

// --- super objects.

namespace {

// What a super object says of itself: super_members of typeobject.c. Null, with the exception
// pending, for what it does not have.
Value ownAttributeOfSuper(Translator& translator, SuperVariable* super, PyObject* name) {
  if (PyUnicode_CompareWithASCIIString(name, "__self__") == 0) return super->self;
  if (PyUnicode_CompareWithASCIIString(name, "__thisclass__") == 0) return super->startClass;
  if (PyUnicode_CompareWithASCIIString(name, "__self_class__") == 0) {
    return translator.knownClass(super->selfType);
  }
  if (cpython::lookup(&PySuper_Type, name)) {
    throw GraphBreak(GraphBreakKind::UnusualSuper, printable(name));
  }
  return translator.raise(PyExc_AttributeError, "'super' object has no attribute '%U'", name);
}

}  // namespace

Value superAttribute(Translator& translator, const Value& self, PyObject* name, bool tail) {
  auto* super = requireKind<SuperVariable>(self);
  // super_getattro: the class of the super object, not of what it is for.
  if (PyUnicode_CompareWithASCIIString(name, "__class__") == 0) {
    return Value::constant(reinterpret_cast<PyObject*>(&PySuper_Type));
  }
  Value startClass = translator.realized(super->startClass);
  PyTypeObject* after = asClass(startClass);
  if (!after) throw GraphBreak(GraphBreakKind::UnusualSuper, describe(startClass));
  // Not so in a method of a metaclass, whose `self` is an instance that happens to be a class.
  auto* classSelf = trackerOf<UserClassVariable>(super->self);
  bool throughClass = classSelf && classSelf->value() == super->selfType;
  Found found = translator.heap.lookupAfter(super->selfType, after, name);
  if (!found) return ownAttributeOfSuper(translator, super, name);
  // Through a class, functions stay functions and classmethods bind to that class.
  if (throughClass && Py_TYPE(found.object) == &PyClassMethod_Type) {
    Value bound = bindTypeAttribute(translator, found, Value(), super->selfType, name);
    if (auto* method = trackerOf<BoundMethodVariable>(bound)) {
      return translator.make<BoundMethodVariable>(&PyMethod_Type, method->function, super->self);
    }
    return bound;
  }
  return bindTypeAttribute(translator, found, throughClass ? Value() : super->self, super->selfType,
                           name, tail);
}

namespace {

// What an object that is no instance of a class says of its own, as a proxy does (supercheck); null
// if it says nothing.
PyTypeObject* claimedClass(Translator& translator, const Value& object) {
  static PyObject* const special = staticName("__class__");
  Value claimed = getOptionalAttribute(translator, object, special);
  return claimed ? asClass(translator.realized(claimed)) : nullptr;
}

Value callSuper(Translator& translator, const Value&, CallArguments& arguments) {
  Value startClass, self;
  if (arguments.keywordCount()) {
    return translator.raise(PyExc_TypeError, "super() takes no keyword arguments");
  }
  if (!checkArgumentCount(translator, "super()", arguments, 0, 2)) return Value();
  if (arguments.positionalCount() == 0) {
    // super_init_without_args
    self = translator.runningFirstArgument();
    if (!self) {
      bool none = translator.location().code->co_argcount == 0;
      return translator.raise(PyExc_RuntimeError,
                              none ? "super(): no arguments" : "super(): arg[0] deleted");
    }
    NewCellVariable* cell = translator.runningClassCell();
    if (!cell) return translator.raise(PyExc_RuntimeError, "super(): __class__ cell not found");
    startClass = cell->read(translator);
    if (!startClass) return translator.raise(PyExc_RuntimeError, "super(): empty __class__ cell");
  } else if (arguments.positionalCount() == 2) {
    startClass = arguments.values[0];
    self = arguments.values[1];
  } else {
    throw GraphBreak(GraphBreakKind::UnusualSuper, "super() with one argument");
  }
  translator.realize(startClass);
  translator.realize(self);
  // Which stands for no object (super_init).
  if (self.is(Py_None)) throw GraphBreak(GraphBreakKind::UnusualSuper, "super() of None");
  auto* user = trackerOf<UserClassVariable>(startClass);
  if (!user) throw GraphBreak(GraphBreakKind::UnusualSuper, describe(startClass));
  PyTypeObject* selfType = nullptr;
  if (auto* classSelf = trackerOf<UserClassVariable>(self);
      classSelf && translator.heap.isSubtype(classSelf->value(), user->value())) {
    selfType = classSelf->value();
  } else if (translator.heap.isSubtype(typeOf(self), user->value())) {
    selfType = typeOf(self);
  } else {
    selfType = claimedClass(translator, self);
    if (translator.exceptionPending()) return Value();
    if (!selfType || !translator.heap.isSubtype(selfType, user->value())) {
      return translator.raise(PyExc_TypeError,
                              "super(type, obj): obj must be an instance or subtype of type");
    }
  }
  return translator.make<SuperVariable>(startClass, self, selfType);
}

// func_descr_get, as a call of function.__get__ comes to it (wrap_descr_get).
Value getFunction(Translator& translator, const Value& self, CallArguments& arguments) {
  if (arguments.keywordCount() || arguments.values.empty() || arguments.values.size() > 2) {
    throw GraphBreak(GraphBreakKind::SpecialMethodArguments, describe(self));
  }
  Value instance = translator.realized(arguments.values[0]);
  bool isBound = !instance.is(Py_None);
  if (isBound) return translator.make<BoundMethodVariable>(&PyMethod_Type, self, instance);
  if (arguments.values.size() == 2 && !translator.realized(arguments.values[1]).is(Py_None)) {
    return self;
  }
  return translator.raise(PyExc_TypeError, "__get__(None, None) is invalid");
}

// types.MethodType(function, object): method_new.
Value makeMethod(Translator& translator, const Value&, CallArguments& arguments) {
  if (arguments.keywordCount()) {
    return translator.raise(PyExc_TypeError, "method() takes no keyword arguments");
  }
  if (arguments.values.size() != 2) {
    return translator.raise(PyExc_TypeError, "method expected 2 arguments, got %zu",
                            arguments.values.size());
  }
  Value function = translator.realized(arguments.values[0]);
  if (!translator.heap.hasSpecial(typeOf(function), cpython::SpecialSlot::Call)) {
    return translator.raise(PyExc_TypeError, "first argument must be callable");
  }
  if (translator.realized(arguments.values[1]).is(Py_None)) {
    return translator.raise(PyExc_TypeError, "instance must not be None");
  }
  return translator.make<BoundMethodVariable>(&PyMethod_Type, std::move(function),
                                              arguments.values[1]);
}

void registerFunctionHandlers() {
  registerObjectHandler(reinterpret_cast<PyObject*>(&PyMethod_Type), makeMethod);
  registerMethodHandler(&PyFunction_Type, "__get__", getFunction);
  registerObjectHandler(reinterpret_cast<PyObject*>(&PySuper_Type), callSuper);
  registerMethodHandler(&PyGen_Type, "send", sendToGenerator);
  registerMethodHandler(&PyGen_Type, "throw", throwIntoGenerator);
  registerMethodHandler(&PyGen_Type, "close", closeGenerator);
  for (const char* name : {"send", "throw"}) registerProtocolMethod(&PyGen_Type, name);
  registerSlotWrappers(&PyGen_Type);
}
ARMATURE_REGISTER_HANDLERS(registerFunctionHandlers);

// func_repr, of one that is the same in each call.
Value functionRepr(Translator& translator, const Value& self) {
  static PyObject* const name = staticName("__qualname__");
  auto* function = requireKind<UserFunctionVariable>(self);
  PyObject* existing = function->existing();
  if (!existing) throw GraphBreak(GraphBreakKind::TextOfObject, describe(self));
  translator.heap.identify(function->source(), reinterpret_cast<PyFunctionObject*>(existing));
  Value qualified = translator.realized(getAttribute(translator, self, name));
  if (!qualified) return qualified;
  PyObject* text = qualified.objectOrNull();
  if (!text || !PyUnicode_Check(text)) {
    throw GraphBreak(GraphBreakKind::TextOfObject, describe(self));
  }
  return translator.fromPython(PyUnicode_FromFormat("<function %U at %p>", text, existing));
}

TypeSlots makeFunctionSlots() {
  TypeSlots slots;
  slots.tp_call = callFunction;
  slots.tp_repr = functionRepr;
  slots.tp_getattro = functionAttribute;
  slots.tp_setattro = setFunctionAttribute;
  slots.tp_hash = unimplemented::unary;
  return slots;
}

TypeSlots makeBoundMethodSlots() {
  TypeSlots slots;
  slots.tp_call = callBound;
  slots.tp_getattro = boundAttribute;
  slots.tp_richcompare = compareBound;
  slots.tp_hash = unimplemented::unary;
  return slots;
}

// gen_getsetlist
template <GeneratorVariable::State state>
Value isInState(Translator& translator, const Value& self) {
  auto* generator = trackerOf<GeneratorVariable>(self);
  return generator ? Value::boolean(generator->state == state)
                   : unimplemented::unary(translator, self);
}

Value frameOfGenerator(Translator& translator, const Value& self) {
  auto* generator = trackerOf<GeneratorVariable>(self);
  bool isAtEnd = generator && generator->state == GeneratorVariable::State::Finished;
  return isAtEnd ? Value::none() : unimplemented::unary(translator, self);
}

PyObject* const kGenerator = reinterpret_cast<PyObject*>(&PyGen_Type);

constexpr BuiltinAttribute kGeneratorAttributes[] = {
    {&kGenerator, "gi_frame", frameOfGenerator, nullptr},
    {&kGenerator, "gi_running", isInState<GeneratorVariable::State::Running>, nullptr},
    {&kGenerator, "gi_suspended", isInState<GeneratorVariable::State::Suspended>, nullptr},
};

TypeSlots makeGeneratorSlots() {
  TypeSlots slots;
  slots.getset = kGeneratorAttributes;
  slots.tp_iter = selfIterator;
  slots.tp_iternext = nextOfGenerator;
  return slots;
}

TypeSlots makeSuperSlots() {
  TypeSlots slots;
  slots.tp_getattro = [](Translator& translator, const Value& self, PyObject* name) {
    return superAttribute(translator, self, name, false);
  };
  slots.tp_setattro = unimplemented::setAttribute;
  return slots;
}

TypeSlots makeCellSlots() {
  TypeSlots slots;
  slots.tp_getattro = unimplemented::getAttribute;
  slots.tp_setattro = unimplemented::setAttribute;
  slots.tp_richcompare = unimplemented::compare;
  return slots;
}

}  // namespace

const TypeSlots kUserFunctionSlots = makeFunctionSlots();
const TypeSlots kBoundMethodSlots = makeBoundMethodSlots();
const TypeSlots kGeneratorSlots = makeGeneratorSlots();
const TypeSlots kSuperSlots = makeSuperSlots();
const TypeSlots kNewCellSlots = makeCellSlots();

}  // namespace armature
