#include "variables/functions/functions.h"

#include "variables/constants/constant.h"
#include "variables/containers/dict.h"
#include "variables/functions/builtin_handlers.h"
#include "variables/functions/library_calls.h"
#include "variables/kind_slots.h"
#include "variables/objects/user_defined.h"
#include "variables/protocol/attribute_protocol.h"
#include "variables/protocol/object_protocol.h"
#include "variables/tensors/tensor.h"
#include "variables/trailed.h"

namespace armature {

void NewCellVariable::store(Translator& translator, Value contents) {
  if (source() && !modified_) translator.recordMutation(this);
  assignTrailed(translator.trail, contents_, std::move(contents));
  if (!modified_) assignTrailed(translator.trail, modified_, true);
}

namespace {

Value selfIterator(Translator&, const Value& self) { return self; }

// --- Python functions.

Value callFunction(Translator& translator, const Value& callable, CallArguments& arguments) {
  auto* function = llvm::cast<UserFunctionVariable>(callable.tracker());
  if (PyObject* real = function->existing()) {
    if (BuiltinHandler handler = findHandler(real)) {
      arguments.tail = false;
      return handler(translator, Value(), arguments);
    }
    Value result;
    if (callLibrary(translator, real, arguments, result)) return result;
  }
  return translator.callUserFunction(function, arguments);
}

Value functionAttribute(Translator& translator, const Value& self, PyObject* name) {
  auto* function = llvm::cast<UserFunctionVariable>(self.tracker());
  const char* text = PyUnicode_AsUTF8(name);
  auto is = [&](const char* other) { return std::strcmp(text, other) == 0; };
  if (function->attributes) {
    if (Value value = function->attributes->get(translator, name)) return value;
  }
  if (auto* real = reinterpret_cast<PyFunctionObject*>(function->existing())) {
    if (is("__name__")) return Value::constant(real->func_name);
    if (is("__qualname__")) return Value::constant(real->func_qualname);
    if (is("__code__")) return Value::constant(real->func_code);
    if (is("__dict__") || !real->func_dict) {
      // Falls through to the common attributes.
    } else if (PyObject* value = PyDict_GetItemWithError(real->func_dict, name)) {
      const Source* source = function->source()
                                 ? translator.sources->instanceAttribute(function->source(), name)
                                 : nullptr;
      return translator.wrap(source, value);
    }
    if (is("__module__") && real->func_module && PyUnicode_CheckExact(real->func_module)) {
      return Value::constant(real->func_module);
    }
    if (is("__doc__") && real->func_doc) return Value::constant(real->func_doc);
  } else {
    if (is("__name__")) return Value::constant(function->code->name);
    if (is("__qualname__")) return Value::constant(function->code->qualifiedName);
    if (is("__code__") && function->code->original) {
      return Value::constant(reinterpret_cast<PyObject*>(function->code->original.get()));
    }
    if (is("__module__")) {
      Value module = function->globals->get(translator, Value::string("__name__"));
      return module ? module : Value::none();
    }
    if (is("__doc__")) {
      const auto& constants = function->code->constants;
      bool has = !constants.empty() && PyUnicode_CheckExact(constants[0].get());
      return has ? Value::constant(constants[0]) : Value::none();
    }
  }
  if (is("__defaults__")) return function->defaults ? function->defaults : Value::none();
  if (is("__kwdefaults__")) {
    return function->keywordDefaults ? function->keywordDefaults : Value::none();
  }
  if (is("__globals__")) return function->globals;
  if (is("__get__") || is("__closure__") || is("__dict__") || is("__annotations__") ||
      is("__call__") || _PyType_Lookup(&PyFunction_Type, name)) {
    throw GraphBreak("Attribute of a function", std::string("function.") + text,
                     "This attribute of function objects is not modelled.");
  }
  return translator.raise(PyExc_AttributeError, "'function' object has no attribute '%U'", name);
}

bool setFunctionAttribute(Translator& translator, const Value& self, PyObject* name,
                          const Value& value) {
  auto* function = llvm::cast<UserFunctionVariable>(self.tracker());
  bool plain = !_PyType_Lookup(&PyFunction_Type, name);
  bool settable = plain || PyUnicode_CompareWithASCIIString(name, "__name__") == 0 ||
                  PyUnicode_CompareWithASCIIString(name, "__qualname__") == 0 ||
                  PyUnicode_CompareWithASCIIString(name, "__doc__") == 0 ||
                  PyUnicode_CompareWithASCIIString(name, "__module__") == 0;
  if (function->existing() || !settable || !value) {
    throw GraphBreak("Assignment to an attribute of a function", describe(self),
                     "Only attributes of functions made inside the traced code can be set.");
  }
  if (!function->attributes) {
    assignTrailed(translator.trail, function->attributes, translator.make<DictVariable>(function));
  }
  return function->attributes->set(translator, Value::constant(name), value);
}

// --- Bound methods.

Value callBound(Translator& translator, const Value& callable, CallArguments& arguments) {
  auto* method = llvm::cast<BoundMethodVariable>(callable.tracker());
  if (trackerOf<TensorVariable>(method->self) && method->function.isConstant() &&
      PyUnicode_CheckExact(method->function.object())) {
    return callTensorMethod(translator, method->self, method->function.object(), arguments);
  }
  arguments.values.insert(arguments.values.begin(), method->self);
  return call(translator, method->function, arguments);
}

Value boundAttribute(Translator& translator, const Value& self, PyObject* name) {
  auto* method = llvm::cast<BoundMethodVariable>(self.tracker());
  if (PyUnicode_CompareWithASCIIString(name, "__self__") == 0) return method->self;
  if (PyUnicode_CompareWithASCIIString(name, "__func__") == 0 && method->type() == &PyMethod_Type) {
    return method->function;
  }
  return getAttribute(translator, method->function, name);
}

Value compareBound(Translator& translator, const Value& left, const Value& right, int op) {
  auto* a = trackerOf<BoundMethodVariable>(left);
  auto* b = trackerOf<BoundMethodVariable>(right);
  if (!a || !b || (op != Py_EQ && op != Py_NE)) return Value::constant(Py_NotImplemented);
  bool equal = isSame(translator, a->self, b->self) && isSame(translator, a->function, b->function);
  return Value::boolean(equal == (op == Py_EQ));
}

// --- Generators.

Value nextOfGenerator(Translator& translator, const Value& self) {
  return translator.resumeGenerator(llvm::cast<GeneratorVariable>(self.tracker()), Value());
}

// --- super objects.

Value superAttribute(Translator& translator, const Value& self, PyObject* name) {
  auto* super = llvm::cast<SuperVariable>(self.tracker());
  Value startClass = translator.realized(super->startClass);
  auto* user = trackerOf<UserClassVariable>(startClass);
  PyTypeObject* after =
      user ? user->value() : reinterpret_cast<PyTypeObject*>(startClass.objectOrNull());
  if (!after)
    throw GraphBreak("super() of something that is not a class", describe(startClass), "");
  bool throughClass = trackerOf<UserClassVariable>(super->self) != nullptr;
  const Source* source =
      throughClass ? super->self.tracker()->source() : typeSource(super->self, translator);
  TypeAttribute found = findOnType(translator, source, super->selfType, name, after);
  if (!found.object) {
    return translator.raise(PyExc_AttributeError, "'super' object has no attribute '%U'", name);
  }
  // Through a class, functions stay functions and classmethods bind to that class.
  if (throughClass && Py_TYPE(found.object) == &PyClassMethod_Type) {
    Value bound = bindTypeAttribute(translator, found, Value(), super->selfType, name);
    if (auto* method = trackerOf<BoundMethodVariable>(bound)) {
      return translator.make<BoundMethodVariable>(&PyMethod_Type, method->function, super->self);
    }
    return bound;
  }
  return bindTypeAttribute(translator, found, throughClass ? Value() : super->self, super->selfType,
                           name);
}

Value callSuper(Translator& translator, const Value&, CallArguments& arguments) {
  Value startClass, self;
  if (arguments.keywordCount() || arguments.positionalCount() > 2) {
    return translator.raise(PyExc_TypeError, "super() takes at most 2 positional arguments");
  }
  if (arguments.positionalCount() == 0) {
    NewCellVariable* cell = translator.runningClassCell();
    if (!cell) return translator.raise(PyExc_RuntimeError, "super(): __class__ cell not found");
    startClass = cell->contents();
    self = translator.runningFirstArgument();
    if (!startClass || !self) {
      return translator.raise(PyExc_RuntimeError, "super(): empty __class__ cell");
    }
  } else if (arguments.positionalCount() == 2) {
    startClass = arguments.values[0];
    self = arguments.values[1];
  } else {
    throw GraphBreak("Unbound super()", "", "super() with one argument is not modelled.");
  }
  translator.realize(startClass);
  translator.realize(self);
  auto* user = trackerOf<UserClassVariable>(startClass);
  if (!user) throw GraphBreak("super() of a builtin class", describe(startClass), "Not modelled.");
  PyTypeObject* selfType = nullptr;
  if (auto* classSelf = trackerOf<UserClassVariable>(self);
      classSelf && PyType_IsSubtype(classSelf->value(), user->value())) {
    selfType = classSelf->value();
  } else if (PyType_IsSubtype(typeOf(self), user->value())) {
    selfType = typeOf(self);
  } else {
    return translator.raise(PyExc_TypeError,
                            "super(type, obj): obj must be an instance or subtype of type");
  }
  return translator.make<SuperVariable>(startClass, self, selfType);
}

void registerFunctionHandlers() {
  registerObjectHandler(reinterpret_cast<PyObject*>(&PySuper_Type), callSuper);
}
ARMATURE_REGISTER_HANDLERS(registerFunctionHandlers);

TypeSlots makeFunctionSlots() {
  TypeSlots slots;
  slots.tp_call = callFunction;
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

TypeSlots makeGeneratorSlots() {
  TypeSlots slots;
  slots.tp_iter = selfIterator;
  slots.tp_iternext = nextOfGenerator;
  slots.tp_getattro = unimplemented::getAttribute;
  return slots;
}

TypeSlots makeSuperSlots() {
  TypeSlots slots;
  slots.tp_getattro = superAttribute;
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
