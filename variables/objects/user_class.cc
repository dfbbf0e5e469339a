// Classes that are written in Python: what they answer. Calling one: class_call.cc.
#include "variables/objects/user_defined.h"

#include "core/checked.h"
#include "core/text.h"
#include "cpython/type_lookup.h"
#include "heap/subclasses.h"
#include "variables/containers/mapping_proxy.h"
#include "variables/containers/sequence.h"
#include "variables/functions/builtin_handlers.h"
#include "variables/functions/functions.h"
#include "variables/kind_slots.h"
#include "variables/objects/made_class.h"
#include "variables/protocol/attribute_protocol.h"
#include "variables/protocol/object_protocol.h"

namespace armature {

namespace {

PyObject* name(const char* text) { return staticName(text); }

Value foundText(Translator& translator, const Found& found) {
  return found.source ? translator.wrap(found.source, found.object) : Value::constant(found.object);
}

ValueVector classesIn(Translator& translator, PyObject* tuple) {
  ValueVector classes;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple); ++i) {
    classes.push_back(
        translator.knownClass(reinterpret_cast<PyTypeObject*>(PyTuple_GET_ITEM(tuple, i))));
  }
  return classes;
}

// type.__mro__ and type.__bases__: the same tuple, for as long as the class has these bases.
Value resolutionOrder(Translator& translator, PyTypeObject* type) {
  PyObject* mro = translator.heap.mro(type);
  if (translator.madeClasses().find(type)) return makeTuple(translator, classesIn(translator, mro));
  const Source* source = translator.heap.classSource(type);
  return translator.wrapOnce(translator.sources->path(SourceKind::TypeMro, source), mro);
}

Value basesOf(Translator& translator, PyTypeObject* type) {
  static PyObject* const field = cpython::lookup(&PyType_Type, name("__bases__"));
  PyObject* bases = translator.heap.bases(type);
  if (translator.madeClasses().find(type))
    return makeTuple(translator, classesIn(translator, bases));
  const Source* source = translator.heap.classSource(type);
  return translator.wrapOnce(translator.sources->item(SourceKind::Descriptor, source, field),
                             bases);
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
    {"__mro__", resolutionOrder},
    {"__bases__", basesOf},
    {"__base__",
     [](Translator& t, PyTypeObject* type) {
       t.heap.mro(type);
       PyTypeObject* base = cpython::base(type);
       return base ? t.knownClass(base) : Value::none();
     }},
    {"__dict__", [](Translator& t, PyTypeObject* type) { return classDict(t, type); }},
};

// The members of type that are numbers: of its layout, and flags, which may come and go.
constexpr const char* kClassNumbers[] = {"__flags__", "__basicsize__", "__itemsize__",
                                         "__dictoffset__", "__weakrefoffset__"};

Value classNumber(Translator& translator, PyTypeObject* type, PyObject* attribute) {
  // Looking for an attribute may give the class a version, which is one of the flags.
  translator.heap.lookup(type, attribute);
  PyObject* member = cpython::lookup(&PyType_Type, attribute);
  const Source* source =
      translator.sources->item(SourceKind::Descriptor, translator.heap.classSource(type), member);
  auto* object = reinterpret_cast<PyObject*>(type);
  return translator.wrap(source, checked(Heap::attributeOfData(object, attribute).release()));
}

// A getset or member descriptor of `type` itself.
Value describedByType(Translator& translator, PyTypeObject* type, PyObject* attribute) {
  for (const ClassAttribute& known : kClassAttributes) {
    if (PyUnicode_CompareWithASCIIString(attribute, known.name) == 0) {
      return known.get(translator, type);
    }
  }
  if (MadeClass* made = translator.madeClasses().find(type)) {
    Value value = madeClassItem(translator, *made, attribute);
    if (value || translator.exceptionPending()) return value;
    throw GraphBreak(GraphBreakKind::ComputedClassAttribute,
                     std::string(cpython::nameOf(type)) + "." + printable(attribute));
  }
  for (const char* number : kClassNumbers) {
    if (PyUnicode_CompareWithASCIIString(attribute, number) == 0) {
      return classNumber(translator, type, attribute);
    }
  }
  // What the type's text in C says, which nothing changes.
  if (PyUnicode_CompareWithASCIIString(attribute, "__text_signature__") == 0) {
    return translator.fromPython(
        Heap::attributeOfData(reinterpret_cast<PyObject*>(type), attribute).release());
  }
  // type_get_annotations gives a class that has none a dict of its own.
  if (PyUnicode_CompareWithASCIIString(attribute, "__annotations__") == 0) {
    if (!cpython::isHeapType(type)) return Value();
    if (!cpython::ownAttribute(type, attribute)) {
      Ref<> made = Heap::attributeOfData(reinterpret_cast<PyObject*>(type), attribute);
      if (!made) return translator.raiseFromPython();
    }
    Found found = translator.heap.lookup(type, attribute);
    bool isOwn = found && cpython::ownAttribute(type, attribute) == found.object;
    if (isOwn && PyDict_CheckExact(found.object)) {
      return translator.wrap(found.source, found.object);
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
    bool isText = isOwn && PyUnicode_CheckExact(found.object);
    if (isText || (isOwn && !isModule && found.object == Py_None)) {
      return translator.wrap(found.source, found.object);
    }
  }
  throw GraphBreak(GraphBreakKind::ComputedClassAttribute,
                   std::string(cpython::nameOf(type)) + "." + printable(attribute));
}

// type_getattro: data descriptors of the metaclass, then the class's MRO, then the metaclass. Null
// without a pending exception where there is no such attribute.
Value findClassAttribute(Translator& translator, const Value& self, PyObject* attribute,
                         bool tail) {
  PyTypeObject* type = requireKind<UserClassVariable>(self)->value();
  PyTypeObject* metaclass = Py_TYPE(type);
  Heap& heap = translator.heap;
  static PyObject* const className = name("__class__");
  Found meta = heap.lookup(metaclass, attribute);
  if (meta && heap.isDataDescriptor(meta.object) && heap.hasGet(meta.object)) {
    PyTypeObject* kind = Py_TYPE(meta.object);
    bool isTypes = kind == &PyGetSetDescr_Type || kind == &PyMemberDescr_Type;
    if (isTypes && attribute == className) return translator.knownClass(metaclass);
    if (isTypes && PyDescr_TYPE(meta.object) == &PyType_Type) {
      return describedByType(translator, type, attribute);
    }
    return bindTypeAttribute(translator, meta, self, metaclass, attribute, tail);
  }
  if (Found found = heap.lookup(type, attribute)) {
    return bindTypeAttribute(translator, found, Value(), type, attribute, tail);
  }
  return meta ? bindTypeAttribute(translator, meta, self, metaclass, attribute, tail) : Value();
}

}  // namespace

namespace {

// Is it the metaclass of pybind11's classes, whose access to attributes is that of type, except
// that it gives an instancemethod as it is? No code of Python's makes such a wrapper.
bool isOfPybind(PyTypeObject* metaclass, PyObject* access) {
  if (!access || Py_TYPE(access) != &PyWrapperDescr_Type) return false;
  constexpr std::string_view kMetaclass = "pybind11_type";
  PyTypeObject* owner = PyDescr_TYPE(access);
  std::string_view text = owner->tp_name;
  return text.substr(text.rfind('.') + 1) == kMetaclass &&
         owner->tp_getattro == metaclass->tp_getattro;
}

}  // namespace

Value classAttribute(Translator& translator, const Value& self, PyObject* attribute, bool tail) {
  PyTypeObject* type = requireKind<UserClassVariable>(self)->value();
  static PyObject* const getattribute = name("__getattribute__");
  PyTypeObject* metaclass = Py_TYPE(type);
  if (!translator.heap.inherits(metaclass, &PyType_Type, getattribute)) {
    bool isKnown = isOfPybind(metaclass, translator.heap.lookup(metaclass, getattribute).object);
    Found found = isKnown ? translator.heap.lookup(type, attribute) : Found();
    if (!isKnown || (found && PyInstanceMethod_Check(found.object))) {
      throw GraphBreak(GraphBreakKind::MetaclassAttributes, cpython::nameOf(type));
    }
  }
  Value value = findClassAttribute(translator, self, attribute, tail);
  return orGetattr(translator, self, attribute, std::move(value), tail, [&] {
    return translator.raise(PyExc_AttributeError, "type object '%.50s' has no attribute '%U'",
                            nameOf(translator, type), attribute);
  });
}

namespace {

Value classHash(Translator& translator, const Value& self) {
  static PyObject* const special = name("__hash__");
  if (!translator.heap.inherits(typeOf(self), &PyType_Type, special)) {
    throw GraphBreak(GraphBreakKind::MetaclassHashOrText, describe(self));
  }
  if (!self.tracker()->existing()) {
    throw GraphBreak(GraphBreakKind::UnknownHash, describe(self));
  }
  // By identity, which is guarded.
  return Value::integer(PyBaseObject_Type.tp_hash(self.tracker()->existing()));
}

Value classRepr(Translator& translator, const Value& self) {
  static PyObject* const special = name("__repr__");
  static PyObject* const moduleName = name("__module__");
  auto* type = requireKind<UserClassVariable>(self)->value();
  Heap& heap = translator.heap;
  if (!heap.inherits(Py_TYPE(type), &PyType_Type, special)) {
    throw GraphBreak(GraphBreakKind::MetaclassHashOrText, describe(self));
  }
  for (const Found& part : {heap.qualifiedNameOf(type), heap.lookup(type, moduleName)}) {
    if (part.source) translator.addGuard(part.source, GuardType::EQUALS_MATCH, part.object);
  }
  return translator.fromPython(PyObject_Repr(reinterpret_cast<PyObject*>(type)));
}

Value classStr(Translator& translator, const Value& self) {
  static PyObject* const special = name("__str__");
  if (!translator.heap.inherits(typeOf(self), &PyType_Type, special)) {
    throw GraphBreak(GraphBreakKind::MetaclassHashOrText, describe(self));
  }
  return classRepr(translator, self);
}

}  // namespace

// PyObject_GetItem: the metaclass's __getitem__, or else __class_getitem__.
Value classSubscript(Translator& translator, const Value& self, const Value& key, bool tail) {
  static PyObject* const special = name("__getitem__");
  static PyObject* const classSpecial = name("__class_getitem__");
  if (translator.heap.lookup(typeOf(self), special)) {
    return objectSubscript(translator, self, key, tail);
  }
  PyTypeObject* type = requireKind<UserClassVariable>(self)->value();
  Found found = translator.heap.lookup(type, classSpecial);
  Value method = found && Py_TYPE(found.object) == &PyClassMethod_Type
                     ? translator.realized(getAttribute(translator, self, classSpecial))
                     : Value();
  if (!trackerOf<BoundMethodVariable>(method)) {
    return unimplemented::subscript(translator, self, key);
  }
  return call(translator, method, {key}, tail);
}

PyTypeObject* asClass(const Value& value) {
  if (auto* user = trackerOf<UserClassVariable>(value)) return user->value();
  PyObject* object = value.objectOrNull();
  return object && PyType_Check(object) ? reinterpret_cast<PyTypeObject*>(object) : nullptr;
}

namespace {

// A class that existed before the trace, or None: what a union of the trace may hold.
PyObject* existingMember(Translator& translator, const Value& value) {
  if (value.is(Py_None)) return Py_None;
  PyTypeObject* type = asClass(value);
  bool existed = type && !translator.heap.isMade(type);
  return existed ? reinterpret_cast<PyObject*>(type) : nullptr;
}

// type_or of typeobject.c: `int | str`.
Value classUnion(Translator& translator, NumberSlot slot, const Value& left, const Value& right) {
  static PyObject* const plain = name("__or__");
  static PyObject* const reflected = name("__ror__");
  static const TypeSlots object = makeObjectSlots();
  for (const Value* operand : {&left, &right}) {
    PyTypeObject* metaclass = typeOf(*operand);
    if (!trackerOf<UserClassVariable>(*operand) || metaclass == &PyType_Type) continue;
    bool isTypes = translator.heap.inherits(metaclass, &PyType_Type, plain) &&
                   translator.heap.inherits(metaclass, &PyType_Type, reflected);
    if (!isTypes) return object.nb[slot](translator, slot, left, right);
  }
  PyObject* first = existingMember(translator, left);
  PyObject* second = existingMember(translator, right);
  bool isKnown = (first || (left.isConstant() && typeOf(left) == unionType())) &&
                 (second || (right.isConstant() && typeOf(right) == unionType()));
  if (!isKnown) return unimplemented::binary(translator, slot, left, right);
  return translator.fromPython(
      PyNumber_Or(first ? first : left.object(), second ? second : right.object()));
}

// type.mro(), where no metaclass has one of its own: what __mro__ was made of.
Value computedOrder(Translator& translator, const Value& self, CallArguments& arguments) {
  if (!checkArgumentCount(translator, "type.mro", arguments, 0, 0)) return Value();
  PyTypeObject* type = asClass(self);
  static PyObject* const special = name("mro");
  bool isPlain =
      type && translator.heap.inherits(typeOf(translator.realized(self)), &PyType_Type, special);
  if (!isPlain) throw GraphBreak(GraphBreakKind::ComputedClassAttribute, describe(self) + ".mro()");
  return translator.make<ListVariable>(classesIn(translator, translator.heap.mro(type)));
}

// type.__subclasses__(). Nobody keeps them alive: each is found again in the next call.
Value subclasses(Translator& translator, const Value& self, CallArguments& arguments) {
  if (!checkArgumentCount(translator, "type.__subclasses__", arguments, 0, 0)) return Value();
  PyTypeObject* type = asClass(translator.realized(self));
  if (!type) unimplemented::unary(translator, self);
  ValueVector classes;
  for (UserClassVariable* made : translator.madeClasses().standing()) {
    for (const Value& base : made->made()->bases) {
      if (asClass(base) == type) classes.push_back(made);
    }
  }
  if (translator.heap.isMade(type)) return translator.make<ListVariable>(std::move(classes));
  // Where generated code makes them, among the others that come and go, is not known.
  if (!classes.empty()) {
    throw GraphBreak(GraphBreakKind::ComputedClassAttribute, describe(self) + ".__subclasses__()");
  }
  const Source* source = translator.sources->item(
      SourceKind::Descriptor, translator.heap.classSource(type), subclassesField());
  Value tuple =
      translator.realized(translator.wrapOnce(source, checked(subclassesOf(type).release())));
  if (!iterateInto(translator, tuple, classes)) return Value();
  return translator.make<ListVariable>(std::move(classes));
}

void registerClassMethods() {
  registerMethodHandler(&PyType_Type, "mro", computedOrder);
  registerMethodHandler(&PyType_Type, "__subclasses__", subclasses);
}
ARMATURE_REGISTER_HANDLERS(registerClassMethods);

// What a made class is given after it was made is put there later, and would meet what its
// metaclass has got meanwhile.
void requireNoMadeInstances(Translator& translator, PyTypeObject* type, PyObject* name) {
  if (!PyType_IsSubtype(type, &PyType_Type)) return;
  for (UserClassVariable* made : translator.madeClasses().standing()) {
    if (!PyType_IsSubtype(Py_TYPE(made->value()), type)) continue;
    throw GraphBreak(GraphBreakKind::ComputedClassAttribute,
                     std::string(cpython::nameOf(type)) + "." + printable(name));
  }
}

bool setClassAttribute(Translator& translator, const Value& self, PyObject* name,
                       const Value& value) {
  requireNoMadeInstances(translator, requireKind<UserClassVariable>(self)->value(), name);
  MadeClass* made = requireKind<UserClassVariable>(self)->made();
  if (!made) return setExistingClassAttribute(translator, self, name, value);
  return setMadeClassAttribute(translator, *made, name, value);
}

// A class is an instance of its metaclass.
TypeSlots makeClassSlots() {
  TypeSlots slots = makeObjectSlots();
  slots.tp_getattro = [](Translator& translator, const Value& self, PyObject* attribute) {
    return classAttribute(translator, self, attribute, false);
  };
  slots.tp_setattro = setClassAttribute;
  slots.tp_call = callClass;
  slots.tp_hash = classHash;
  slots.tp_repr = classRepr;
  slots.tp_str = classStr;
  slots.mp_subscript = [](Translator& translator, const Value& self, const Value& key) {
    return classSubscript(translator, self, key, false);
  };
  slots.nb[nb_or] = classUnion;
  slots.instanceDict = TypeSlots().instanceDict;
  return slots;
}

}  // namespace

const TypeSlots kUserClassSlots = makeClassSlots();

}  // namespace armature
