// Classes that are written in Python: what they answer, and what calling one makes.
#include "variables/objects/user_defined.h"

#include "core/checked.h"
#include "core/text.h"
#include "cpython/type_lookup.h"
#include "variables/containers/sequence.h"
#include "variables/functions/builtin_handlers.h"
#include "variables/functions/functions.h"
#include "variables/functions/library_calls.h"
#include "variables/kind_slots.h"
#include "variables/objects/exception.h"
#include "variables/protocol/attribute_protocol.h"
#include "variables/protocol/object_protocol.h"

namespace armature {

namespace {

PyObject* name(const char* text) { return staticName(text); }

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
  auto* variable = requireKind<UserClassVariable>(self);
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
                          nameOf(translator, type), attribute);
}

// Gives the instance.
Value runInit(Translator& translator, const Value& instance, CallArguments& arguments) {
  static PyObject* const init = name("__init__");
  Value method = lookupSpecial(translator, instance, init);
  if (!method) return method;
  return then(translator, call(translator, method, arguments), {OnReturn::CheckInit, {instance}});
}

// type_call for a class of exceptions. What is found under the names is a Python function, or one
// of a builtin class.
Value makeException(Translator& translator, const Value& callable, PyTypeObject* type,
                    CallArguments& arguments) {
  static PyObject* const init = name("__init__");
  static PyObject* const newName = name("__new__");
  Found newFunction = translator.heap.lookup(type, newName);
  Found initFunction = translator.heap.lookup(type, init);
  bool isBuiltinInit = initFunction && Py_TYPE(initFunction.object) == &PyWrapperDescr_Type;
  PyTypeObject* initOwner =
      isBuiltinInit ? reinterpret_cast<PyDescrObject*>(initFunction.object)->d_type : nullptr;
  Value instance;
  if (newFunction && Py_TYPE(newFunction.object) == &PyStaticMethod_Type) {
    Value function =
        translator.realized(bindTypeAttribute(translator, newFunction, Value(), type, newName));
    if (!trackerOf<UserFunctionVariable>(function)) {
      throw GraphBreak(GraphBreakKind::ClassWithNew, type->tp_name);
    }
    CallArguments all = arguments;
    all.values.insert(all.values.begin(), callable);
    all.tail = false;
    instance = translator.realized(call(translator, function, all));
    if (!instance || !translator.heap.isSubtype(typeOf(instance), type)) return instance;
    if (isBuiltinInit) {
      return initializeException(translator, *requireKind<ExceptionVariable>(instance), initOwner,
                                 arguments)
                 ? instance
                 : Value();
    }
  } else {
    if (!newFunction || !PyCFunction_Check(newFunction.object)) {
      throw GraphBreak(GraphBreakKind::ClassWithNew, type->tp_name);
    }
    auto* newOwner = reinterpret_cast<PyTypeObject*>(PyCFunction_GET_SELF(newFunction.object));
    instance = constructException(translator, callable, type, newOwner, initOwner, arguments);
    if (!instance || isBuiltinInit) return instance;
  }
  return runInit(translator, instance, arguments);
}

// When an object dies depends on Python running the program, so one that notices its end is made
// by Python.
void refuseFinalizer(Translator& translator, PyTypeObject* type) {
  if (!translator.heap.lookup(type, "__del__")) return;
  throw GraphBreak(GraphBreakKind::Finalizer, type->tp_name);
}

// A class over tuple whose __new__ is a Python function, as namedtuple generates it: what it
// returns comes from tuple.__new__, if anything of the class does.
Value makeTupleOfClass(Translator& translator, const Value& callable, CallArguments& arguments) {
  static PyObject* const newName = name("__new__");
  static PyObject* const initName = name("__init__");
  auto* type = requireKind<UserClassVariable>(callable)->value();
  Found found = translator.heap.lookup(type, newName);
  bool isStatic = found && found.source && Py_TYPE(found.object) == &PyStaticMethod_Type;
  Value function;
  if (isStatic) {
    function = translator.realized(bindTypeAttribute(translator, found, Value(), type, newName));
  }
  if (!trackerOf<UserFunctionVariable>(function)) {
    throw GraphBreak(GraphBreakKind::ClassWithNew, type->tp_name);
  }
  CallArguments all = arguments;
  all.values.insert(all.values.begin(), callable);
  all.tail = false;
  Value result = translator.realized(call(translator, function, all));
  if (!result || !translator.heap.isSubtype(typeOf(result), type)) return result;
  if (translator.heap.inherits(typeOf(result), &PyBaseObject_Type, initName)) return result;
  return runInit(translator, result, arguments);
}

// type_call: __new__, then __init__ of the result.
Value callClass(Translator& translator, const Value& callable, CallArguments& arguments) {
  auto* variable = requireKind<UserClassVariable>(callable);
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
  if (!type->tp_new) {
    return translator.raise(PyExc_TypeError, "cannot create '%.100s' instances", type->tp_name);
  }
  refuseFinalizer(translator, type);
  if (translator.heap.isSubtype(type, reinterpret_cast<PyTypeObject*>(PyExc_BaseException))) {
    return makeException(translator, callable, type, arguments);
  }
  static PyObject* const newName = name("__new__");
  static PyObject* const initName = name("__init__");
  PyTypeObject* layout = cpython::staticBase(type);
  if (layout == &PyTuple_Type) return makeTupleOfClass(translator, callable, arguments);
  bool isDict = layout == &PyDict_Type || layout == &PyODict_Type;
  // A class that once had a __new__ of its own keeps the slot for it, and what comes with it.
  bool hasBuiltinNew =
      translator.heap.inherits(type, layout, newName) && type->tp_new == layout->tp_new;
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
      return translator.raise(PyExc_TypeError, "%.200s() takes no arguments",
                              nameOf(translator, type));
    }
    return instance;
  }
  return runInit(translator, instance, arguments);
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
  auto* type = requireKind<UserClassVariable>(self)->value();
  Heap& heap = translator.heap;
  if (!heap.inherits(Py_TYPE(type), &PyType_Type, special)) {
    throw GraphBreak(GraphBreakKind::MetaclassHashOrText, describe(self));
  }
  for (const Found& part : {heap.qualifiedNameOf(type), heap.lookup(type, "__module__")}) {
    if (part.source) translator.addGuard(part.source, GuardType::EQUALS_MATCH, part.object);
  }
  return translator.fromPython(PyObject_Repr(self.tracker()->existing()));
}

Value classStr(Translator& translator, const Value& self) {
  static PyObject* const special = name("__str__");
  if (!translator.heap.inherits(typeOf(self), &PyType_Type, special)) {
    throw GraphBreak(GraphBreakKind::MetaclassHashOrText, describe(self));
  }
  return classRepr(translator, self);
}

// A class's own __class_getitem__ is not followed.
Value classSubscript(Translator& translator, const Value& self, const Value& key) {
  static const TypeSlots slots = makeObjectSlots();
  static PyObject* const special = name("__getitem__");
  if (!translator.heap.lookup(typeOf(self), special)) {
    return unimplemented::subscript(translator, self, key);
  }
  return slots.mp_subscript(translator, self, key);
}

// A class is an instance of its metaclass.
TypeSlots makeClassSlots() {
  TypeSlots slots = makeObjectSlots();
  slots.tp_getattro = classAttribute;
  slots.tp_setattro = unimplemented::setAttribute;
  slots.tp_call = callClass;
  slots.tp_hash = classHash;
  slots.tp_repr = classRepr;
  slots.tp_str = classStr;
  slots.mp_subscript = classSubscript;
  slots.instanceDict = TypeSlots().instanceDict;
  return slots;
}

}  // namespace

const TypeSlots kUserClassSlots = makeClassSlots();

}  // namespace armature
