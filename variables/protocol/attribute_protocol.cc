// Attribute access: PyObject_GenericGetAttr, type_getattro's binding, and LOAD_METHOD.
#include "variables/protocol/attribute_protocol.h"

#include <structmember.h>

#include <cstring>

#include "variables/containers/dict.h"
#include "variables/containers/sequence.h"
#include "variables/functions/builtin_handlers.h"
#include "variables/functions/functions.h"
#include "variables/objects/module_attributes.h"
#include "variables/objects/user_defined.h"
#include "variables/protocol/object_protocol.h"

namespace armature {

namespace {

PyObject* interned(const char* name) { return PyUnicode_InternFromString(name); }

bool isPythonFunction(PyObject* object) { return PyFunction_Check(object); }

bool isCMethod(PyObject* object) {
  PyTypeObject* type = Py_TYPE(object);
  return type == &PyMethodDescr_Type || type == &PyWrapperDescr_Type;
}

// The path of a C struct member of a builtin type (staticmethod.__func__, property.fget …).
const Source* memberSource(Translator& translator, const Source* base, PyTypeObject* type,
                           const char* name) {
  if (!base) return nullptr;
  Ref<> key = Ref<>::steal(interned(name));
  PyObject* descriptor = _PyType_Lookup(type, key.get());
  return translator.sources->item(SourceKind::Slot, base, descriptor);
}

Value wrapMember(Translator& translator, const Source* base, PyTypeObject* type, PyObject* object,
                 const char* name) {
  Ref<> member = Ref<>::steal(PyObject_GetAttrString(object, name));
  if (!member) return translator.raiseFromPython();
  return translator.wrap(memberSource(translator, base, type, name), member);
}

// Guards that a descriptor found on a type is still this object.
void guardIdentity(Translator& translator, const TypeAttribute& found) {
  if (found.source) translator.addGuard(found.source, GuardType::ID_MATCH, found.object);
}

Value noAttribute(Translator& translator, const Value& object, PyObject* name) {
  return translator.raise(PyExc_AttributeError, "'%.100s' object has no attribute '%U'",
                          typeOf(object)->tp_name, name);
}

Value memberValue(Translator& translator, const TypeAttribute& found, const Value& instance,
                  PyObject* name) {
  guardIdentity(translator, found);
  if (auto* object = trackerOf<UserObjectVariable>(instance)) {
    Value key = Value::constant(found.object);
    if (object->memberValues) {
      Value value = object->memberValues->get(translator, key);
      if (value) return value;
      if (object->memberValues->entries().find(key, hashKey(key).hash) !=
          OrderedValueMap::kAbsent) {
        return noAttribute(translator, instance, name);  // Deleted by the trace.
      }
    }
    if (object->existing()) {
      auto* member = reinterpret_cast<PyMemberDescrObject*>(found.object)->d_member;
      if (member->type == T_OBJECT_EX || member->type == T_OBJECT) {
        PyObject* value = *reinterpret_cast<PyObject**>(
            reinterpret_cast<char*>(object->existing()) + member->offset);
        if (value) {
          return translator.wrap(
              translator.sources->item(SourceKind::Slot, object->source(), found.object), value);
        }
        throw GraphBreak("Read of an empty slot", describe(instance),
                         "A slot of this object has no value; its absence cannot be guarded.");
      }
    } else {
      return noAttribute(translator, instance, name);
    }
  }
  throw GraphBreak("Attribute of a C object", describe(instance) + "." + PyUnicode_AsUTF8(name),
                   "This attribute is computed by C code that is not modelled.");
}

Value getsetValue(Translator& translator, const TypeAttribute& found, const Value& instance,
                  PyObject* name) {
  const char* text = PyUnicode_AsUTF8(name);
  if (std::strcmp(text, "__class__") == 0) return typeValue(translator, instance);
  if (std::strcmp(text, "__dict__") == 0) {
    if (InstanceDictFunction function = slotsOf(instance).instanceDict) {
      if (DictVariable* dict = function(translator, instance)) return dict;
    }
  }
  if (instance.isConstant() && isConstantData(instance)) {
    return translator.fromPython(PyObject_GetAttr(instance.object(), name));
  }
  (void)found;
  throw GraphBreak("Attribute of a C object", describe(instance) + "." + text,
                   "This attribute is computed by C code that is not modelled.");
}

bool isDataDescriptor(PyObject* object) { return Py_TYPE(object)->tp_descr_set != nullptr; }

DictVariable* instanceDictOf(Translator& translator, const Value& object) {
  InstanceDictFunction function = slotsOf(object).instanceDict;
  return function ? function(translator, object) : nullptr;
}

}  // namespace

const Source* typeSource(const Value& object, Translator& translator) {
  if (!object.isTracker()) return nullptr;
  const VariableTracker* tracker = object.tracker();
  if (auto* user = llvm::dyn_cast<UserObjectVariable>(tracker)) {
    if (user->classVariable) return user->classVariable->source();
  }
  return translator.typeSource(tracker);
}

TypeAttribute findOnType(Translator& translator, const Source* source, PyTypeObject* type,
                         PyObject* name, PyTypeObject* after) {
  if (!after) {
    PyObject* found = _PyType_Lookup(type, name);
    if (!found) {
      // What is absent may be added to the class later.
      bool guardable =
          source && (type->tp_flags & Py_TPFLAGS_HEAPTYPE) && source->kind() == SourceKind::Type;
      if (guardable) translator.addGuard(source, GuardType::HASATTR, name, 0);
      return {};
    }
    if (!(type->tp_flags & Py_TPFLAGS_HEAPTYPE) || !source) return {found, nullptr};
    return {found, translator.sources->item(SourceKind::TypeAttribute, source, name)};
  }
  PyObject* mro = type->tp_mro;
  Py_ssize_t i = 0, count = PyTuple_GET_SIZE(mro);
  while (i < count && PyTuple_GET_ITEM(mro, i) != reinterpret_cast<PyObject*>(after)) ++i;
  for (++i; i < count; ++i) {
    auto* base = reinterpret_cast<PyTypeObject*>(PyTuple_GET_ITEM(mro, i));
    PyObject* found = PyDict_GetItemWithError(base->tp_dict, name);
    if (!found) continue;
    if (!(base->tp_flags & Py_TPFLAGS_HEAPTYPE) || !source) return {found, nullptr};
    const Source* baseSource = translator.sources->item(
        SourceKind::TupleItem, translator.sources->path(SourceKind::TypeMro, source), i);
    return {found, translator.sources->item(SourceKind::TypeAttribute, baseSource, name)};
  }
  return {};
}

Value bindTypeAttribute(Translator& translator, const TypeAttribute& found, const Value& instance,
                        PyTypeObject* type, PyObject* name) {
  PyObject* object = found.object;
  PyTypeObject* kind = Py_TYPE(object);
  auto owner = [&] {
    if (instance) return typeValue(translator, instance);
    return translator.knownClass(type);
  };
  if (isPythonFunction(object) || findInstanceHandler(kind)) {
    Value function = translator.wrap(found.source, object);
    if (!instance) return function;
    return translator.make<BoundMethodVariable>(&PyMethod_Type, function, instance);
  }
  if (kind == &PyStaticMethod_Type) {
    guardIdentity(translator, found);
    return wrapMember(translator, found.source, kind, object, "__func__");
  }
  if (kind == &PyClassMethod_Type) {
    guardIdentity(translator, found);
    Value function = wrapMember(translator, found.source, kind, object, "__func__");
    return translator.make<BoundMethodVariable>(&PyMethod_Type, function, owner());
  }
  if (kind == &PyClassMethodDescr_Type) {
    return translator.make<BoundMethodVariable>(&PyCFunction_Type, Value::constant(object),
                                                owner());
  }
  if (!kind->tp_descr_get || !instance) {
    // A plain class attribute; or a descriptor looked at through its class, which most of C's
    // descriptors answer with themselves.
    bool answersItself = !kind->tp_descr_get || isCMethod(object) || kind == &PyProperty_Type ||
                         kind == &PyGetSetDescr_Type || kind == &PyMemberDescr_Type;
    if (answersItself) {
      if (!found.source && !(type->tp_flags & Py_TPFLAGS_HEAPTYPE)) return Value::constant(object);
      return translator.wrap(found.source, object);
    }
  }
  if (isCMethod(object)) {
    return translator.make<BoundMethodVariable>(&PyCFunction_Type, Value::constant(object),
                                                instance);
  }
  if (kind == &PyProperty_Type) {
    guardIdentity(translator, found);
    Value getter = wrapMember(translator, found.source, kind, object, "fget");
    if (!getter) return getter;
    translator.realize(getter);
    if (getter.is(Py_None)) {
      return translator.raise(PyExc_AttributeError,
                              "property '%U' of '%.100s' object has no getter", name,
                              type->tp_name);
    }
    return call(translator, getter, {instance});
  }
  if (kind == &PyMemberDescr_Type) return memberValue(translator, found, instance, name);
  if (kind == &PyGetSetDescr_Type) return getsetValue(translator, found, instance, name);

  // A descriptor class written in Python.
  static PyObject* const get = interned("__get__");
  PyObject* getter = _PyType_Lookup(kind, get);
  if (getter && isPythonFunction(getter) && found.source) {
    Value descriptor = translator.wrap(found.source, object);
    Value method = lookupSpecial(translator, descriptor, get);
    if (!method) return method;
    return call(translator, method, {instance ? instance : Value::none(), owner()});
  }
  throw GraphBreak(
      "Descriptor that is not modelled",
      std::string(type->tp_name) + "." + PyUnicode_AsUTF8(name) + " (" + kind->tp_name + ")",
      "Descriptors of this type run code that is not traced.");
}

Value genericGetAttribute(Translator& translator, const Value& object, PyObject* name) {
  PyTypeObject* type = typeOf(object);
  const Source* source = typeSource(object, translator);
  TypeAttribute found = findOnType(translator, source, type, name);
  if (found.object && isDataDescriptor(found.object) && Py_TYPE(found.object)->tp_descr_get) {
    return bindTypeAttribute(translator, found, object, type, name);
  }
  if (DictVariable* dict = instanceDictOf(translator, object)) {
    if (Value value = dict->get(translator, name)) return value;
  }
  if (found.object) return bindTypeAttribute(translator, found, object, type, name);
  return noAttribute(translator, object, name);
}

namespace {

// The __getattribute__ of a class that has one of its own, else null.
TypeAttribute ownGetattribute(Translator& translator, const Value& object) {
  static PyObject* const getattribute = interned("__getattribute__");
  PyTypeObject* type = typeOf(object);
  if (type->tp_getattro == PyObject_GenericGetAttr || !trackerOf<UserObjectVariable>(object)) {
    return {};
  }
  TypeAttribute found = findOnType(translator, typeSource(object, translator), type, getattribute);
  return found.object && isPythonFunction(found.object) ? found : TypeAttribute();
}

bool attributeErrorPending(Translator& translator) {
  return translator.exceptionPending() &&
         PyType_IsSubtype(typeOf(translator.exception()),
                          reinterpret_cast<PyTypeObject*>(PyExc_AttributeError));
}

// slot_tp_getattr_hook: __getattribute__, and where that raises AttributeError, __getattr__.
Value hookedGetAttribute(Translator& translator, const Value& object, PyObject* name) {
  static PyObject* const getattribute = interned("__getattribute__");
  static PyObject* const getattr = interned("__getattr__");
  PyTypeObject* type = typeOf(object);
  TypeAttribute own = ownGetattribute(translator, object);
  Value value =
      own.object ? call(translator, bindTypeAttribute(translator, own, object, type, getattribute),
                        {Value::constant(name)})
                 : genericGetAttribute(translator, object, name);
  if (value || !attributeErrorPending(translator)) return value;
  TypeAttribute fallback = findOnType(translator, typeSource(object, translator), type, getattr);
  if (!fallback.object) return value;
  translator.takeException();
  if (isPythonFunction(fallback.object)) {
    if (isModuleGetattr(fallback.object)) {
      if (Value value = moduleGetAttribute(translator, object, name)) return value;
      if (translator.exceptionPending()) return Value();
      return noAttribute(translator, object, name);
    }
    Value method = bindTypeAttribute(translator, fallback, object, type, getattr);
    return call(translator, method, {Value::constant(name)});
  }
  throw GraphBreak("__getattr__ that is not a Python function", describe(object),
                   "The class answers missing attributes by code that is not traced.");
}

}  // namespace

bool genericSetAttribute(Translator& translator, const Value& object, PyObject* name,
                         const Value& value) {
  PyTypeObject* type = typeOf(object);
  TypeAttribute found = findOnType(translator, typeSource(object, translator), type, name);
  if (found.object && isDataDescriptor(found.object)) {
    PyTypeObject* kind = Py_TYPE(found.object);
    if (kind == &PyProperty_Type) {
      guardIdentity(translator, found);
      const char* accessor = value ? "fset" : "fdel";
      Value setter =
          translator.realized(wrapMember(translator, found.source, kind, found.object, accessor));
      if (!setter) return false;
      if (setter.is(Py_None)) {
        translator.raise(PyExc_AttributeError, "property '%U' of '%.100s' object has no %s", name,
                         type->tp_name, value ? "setter" : "deleter");
        return false;
      }
      Value result =
          value ? call(translator, setter, {object, value}) : call(translator, setter, {object});
      return static_cast<bool>(result);
    }
    if (kind == &PyMemberDescr_Type) {
      if (auto* user = trackerOf<UserObjectVariable>(object)) {
        guardIdentity(translator, found);
        if (!user->memberValues) {
          auto* values = translator.make<DictVariable>(user);
          user->memberValues = values;
        }
        if (user->source()) translator.recordMutation(user);
        Value key = Value::constant(found.object);
        if (value) return user->memberValues->set(translator, key, value);
        throw GraphBreak("Deletion of a slot", describe(object), "del of a slot is not modelled.");
      }
    }
    static PyObject* const set = interned("__set__");
    PyObject* setter = value ? _PyType_Lookup(kind, set) : nullptr;
    if (setter && isPythonFunction(setter) && found.source) {
      Value descriptor = translator.wrap(found.source, found.object);
      Value method = lookupSpecial(translator, descriptor, set);
      return method && call(translator, method, {object, value});
    }
    throw GraphBreak("Assignment through a descriptor that is not modelled",
                     describe(object) + "." + PyUnicode_AsUTF8(name),
                     "Assigning this attribute runs code that is not traced.");
  }
  if (DictVariable* dict = instanceDictOf(translator, object)) {
    Value key = Value::constant(name);
    if (value) return dict->set(translator, key, value);
    if (dict->remove(translator, key)) return true;
    translator.raise(PyExc_AttributeError, "%U", name);
    return false;
  }
  if (found.object) {
    translator.raise(PyExc_AttributeError, "'%.100s' object attribute '%U' is read-only",
                     type->tp_name, name);
  } else {
    noAttribute(translator, object, name);
  }
  return false;
}

Value getAttribute(Translator& translator, Value object, PyObject* name) {
  translator.realize(object);
  if (GetAttributeFunction function = slotsOf(object).tp_getattro) {
    return function(translator, object, name);
  }
  // A class with neither __getattribute__ nor __getattr__ has the generic slot.
  if (typeOf(object)->tp_getattro != PyObject_GenericGetAttr) {
    return hookedGetAttribute(translator, object, name);
  }
  Value value = genericGetAttribute(translator, object, name);
  if (!value && attributeErrorPending(translator)) {
    // The error stands only as long as the class gets no __getattr__.
    static PyObject* const getattr = interned("__getattr__");
    findOnType(translator, typeSource(object, translator), typeOf(object), getattr);
  }
  return value;
}

bool setAttribute(Translator& translator, Value object, PyObject* name, Value value) {
  translator.realize(object);
  if (SetAttributeFunction function = slotsOf(object).tp_setattro) {
    return function(translator, object, name, value);
  }
  return genericSetAttribute(translator, object, name, value);
}

Value getOptionalAttribute(Translator& translator, Value object, PyObject* name) {
  Value result = getAttribute(translator, std::move(object), name);
  if (!result && attributeErrorPending(translator)) translator.takeException();
  return result;
}

bool loadMethod(Translator& translator, Value object, PyObject* name, Value& function) {
  translator.realize(object);
  if (isConstantData(object)) {
    PyObject* found = _PyType_Lookup(Py_TYPE(object.object()), name);
    if (found && isCMethod(found)) {
      function = Value::constant(found);
      return true;
    }
  }
  if (slotsOf(object).tp_getattro) {
    function = getAttribute(translator, object, name);
    return false;
  }
  PyTypeObject* type = typeOf(object);
  TypeAttribute found = findOnType(translator, typeSource(object, translator), type, name);
  bool isMethod = found.object && (isPythonFunction(found.object) || isCMethod(found.object));
  if (!isMethod || ownGetattribute(translator, object).object) {
    function = getAttribute(translator, object, name);
    return false;
  }
  if (DictVariable* dict = instanceDictOf(translator, object)) {
    if (Value value = dict->get(translator, name)) {
      function = std::move(value);
      return false;
    }
  }
  function = isPythonFunction(found.object) ? translator.wrap(found.source, found.object)
                                            : Value::constant(found.object);
  return true;
}

Value lookupSpecial(Translator& translator, Value object, PyObject* name) {
  translator.realize(object);
  PyTypeObject* type = typeOf(object);
  TypeAttribute found = findOnType(translator, typeSource(object, translator), type, name);
  if (!found.object) return Value();
  return bindTypeAttribute(translator, found, object, type, name);
}

Value typeValue(Translator& translator, const Value& object) {
  PyTypeObject* type = typeOf(object);
  if (!(type->tp_flags & Py_TPFLAGS_HEAPTYPE)) {
    return Value::constant(reinterpret_cast<PyObject*>(type));
  }
  if (auto* user = trackerOf<UserObjectVariable>(object)) {
    if (user->classVariable) return user->classVariable;
  }
  if (const Source* source = typeSource(object, translator)) {
    return translator.realized(translator.wrap(source, reinterpret_cast<PyObject*>(type)));
  }
  return translator.knownClass(type);
}

}  // namespace armature
