// Attribute access: PyObject_GenericGetAttr, type_getattro's binding, and LOAD_METHOD.
#include "variables/protocol/attribute_protocol.h"

#include <cstring>

#include "core/text.h"
#include "cpython/member_descriptors.h"
#include "cpython/type_lookup.h"
#include "variables/constants/constant.h"
#include "variables/containers/dict.h"
#include "variables/containers/sequence.h"
#include "variables/functions/builtin_handlers.h"
#include "variables/functions/functions.h"
#include "variables/objects/user_defined.h"
#include "variables/protocol/object_protocol.h"
#include "variables/trailed.h"

namespace armature {

namespace {

PyObject* interned(const char* name) { return PyUnicode_InternFromString(name); }

bool isPythonFunction(PyObject* object) { return PyFunction_Check(object); }

bool isCMethod(PyObject* object) {
  PyTypeObject* type = Py_TYPE(object);
  return type == &PyMethodDescr_Type || type == &PyWrapperDescr_Type;
}

// A field of an instance of a builtin type (staticmethod.__func__, property.fget …), read by the
// member descriptor of that type; None where it is unset.
Value wrapMember(Translator& translator, const Source* base, PyObject* object, const char* name) {
  PyObject* descriptor = cpython::ownAttribute(Py_TYPE(object), name);
  PyObject* member = cpython::memberValue(object, descriptor);
  if (!member) return Value::none();
  return translator.wrap(
      base ? translator.sources->item(SourceKind::Slot, base, descriptor) : nullptr, member);
}

Value noAttribute(Translator& translator, const Value& object, PyObject* name) {
  return translator.raise(PyExc_AttributeError, "'%.100s' object has no attribute '%U'",
                          typeOf(object)->tp_name, name);
}

Value memberOf(Translator& translator, const Found& found, const Value& instance, PyObject* name) {
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
    if (!object->existing()) return noAttribute(translator, instance, name);
    if (cpython::isObjectMember(found.object)) {
      if (PyObject* value = cpython::memberValue(object->existing(), found.object)) {
        return translator.wrap(
            translator.sources->item(SourceKind::Slot, object->source(), found.object), value);
      }
      throw GraphBreak(GraphBreakKind::EmptySlot, describe(instance));
    }
  }
  throw GraphBreak(GraphBreakKind::AttributeOfCObject, describe(instance) + "." + printable(name));
}

Value getsetValue(Translator& translator, const Value& instance, PyObject* name) {
  const std::string text = printable(name);
  if (text == "__class__") return typeValue(translator, instance);
  if (text == "__dict__") {
    if (InstanceDictFunction function = slotsOf(instance).instanceDict) {
      if (DictVariable* dict = function(translator, instance)) return translator.dictValue(dict);
    }
  }
  if (instance.isConstant() && isConstantData(instance)) {
    return translator.fromPython(Heap::attributeOfData(instance.object(), name).release());
  }
  throw GraphBreak(GraphBreakKind::AttributeOfCObject, describe(instance) + "." + text);
}

DictVariable* instanceDictOf(Translator& translator, const Value& object) {
  InstanceDictFunction function = slotsOf(object).instanceDict;
  return function ? function(translator, object) : nullptr;
}

}  // namespace

Value bindTypeAttribute(Translator& translator, const Found& found, const Value& instance,
                        PyTypeObject* type, PyObject* name) {
  PyObject* object = found.object;
  PyTypeObject* kind = Py_TYPE(object);
  auto owner = [&] {
    if (instance) return typeValue(translator, instance);
    return translator.knownClass(type);
  };
  if (isPythonFunction(object) || (findInstanceHandler(kind) && kind->tp_descr_get)) {
    Value function = translator.wrap(found.source, object);
    if (!instance) return function;
    return translator.make<BoundMethodVariable>(&PyMethod_Type, function, instance);
  }
  if (kind == &PyStaticMethod_Type) {
    return wrapMember(translator, found.source, object, "__func__");
  }
  if (kind == &PyClassMethod_Type) {
    Value function = wrapMember(translator, found.source, object, "__func__");
    return translator.make<BoundMethodVariable>(&PyMethod_Type, function, owner());
  }
  if (kind == &PyClassMethodDescr_Type) {
    return translator.make<BoundMethodVariable>(&PyCFunction_Type, Value::constant(object),
                                                owner());
  }
  bool hasGet = translator.heap.hasGet(object);
  if (!hasGet || !instance) {
    // A plain class attribute; or a descriptor looked at through its class, which most of C's
    // descriptors answer with themselves.
    bool answersItself = !hasGet || isCMethod(object) || kind == &PyProperty_Type ||
                         kind == &PyGetSetDescr_Type || kind == &PyMemberDescr_Type;
    if (answersItself) {
      if (!found.source && isConstantObject(object)) return Value::constant(object);
      return translator.wrap(found.source, object);
    }
  }
  if (isCMethod(object)) {
    return translator.make<BoundMethodVariable>(&PyCFunction_Type, Value::constant(object),
                                                instance);
  }
  if (kind == &PyProperty_Type) {
    Value getter = translator.realized(wrapMember(translator, found.source, object, "fget"));
    if (getter.is(Py_None)) {
      return translator.raise(PyExc_AttributeError,
                              "property '%U' of '%.100s' object has no getter", name,
                              type->tp_name);
    }
    return call(translator, getter, {instance});
  }
  if (kind == &PyMemberDescr_Type) return memberOf(translator, found, instance, name);
  if (kind == &PyGetSetDescr_Type) return getsetValue(translator, instance, name);

  // A descriptor class written in Python.
  static PyObject* const get = interned("__get__");
  Found getter = translator.heap.lookup(kind, get);
  if (getter && isPythonFunction(getter.object) && found.source) {
    Value descriptor = translator.wrap(found.source, object);
    Value method = lookupSpecial(translator, descriptor, get);
    if (!method) return method;
    return call(translator, method, {instance ? instance : Value::none(), owner()});
  }
  throw GraphBreak(GraphBreakKind::UnsupportedDescriptor,
                   std::string(type->tp_name) + "." + printable(name) + " (" + kind->tp_name + ")");
}

Value genericGetAttribute(Translator& translator, const Value& object, PyObject* name) {
  PyTypeObject* type = typeOf(object);
  Heap& heap = translator.heap;
  Found found = heap.lookup(type, name);
  if (found && heap.isDataDescriptor(found.object) && heap.hasGet(found.object)) {
    return bindTypeAttribute(translator, found, object, type, name);
  }
  if (DictVariable* dict = instanceDictOf(translator, object)) {
    if (Value value = dict->get(translator, name)) return value;
  }
  if (found) return bindTypeAttribute(translator, found, object, type, name);
  return noAttribute(translator, object, name);
}

namespace {

bool attributeErrorPending(Translator& translator) {
  return translator.exceptionPending() &&
         translator.heap.isSubtype(typeOf(translator.exception()),
                                   reinterpret_cast<PyTypeObject*>(PyExc_AttributeError));
}

// The __getattribute__ of a class that has one of its own; nothing where it is object's.
Found ownGetattribute(Translator& translator, PyTypeObject* type) {
  static PyObject* const getattribute = interned("__getattribute__");
  if (cpython::isImmutable(type)) return {};
  Found found = translator.heap.lookup(type, getattribute);
  bool isGeneric = found.object == cpython::lookup(&PyBaseObject_Type, getattribute);
  return isGeneric ? Found() : found;
}

// slot_tp_getattr_hook: __getattribute__, and where that raises AttributeError, __getattr__.
Value hookedGetAttribute(Translator& translator, const Value& object, PyObject* name) {
  static PyObject* const getattribute = interned("__getattribute__");
  static PyObject* const getattr = interned("__getattr__");
  PyTypeObject* type = typeOf(object);
  Value value;
  if (Found own = ownGetattribute(translator, type); own && isPythonFunction(own.object)) {
    value = call(translator, bindTypeAttribute(translator, own, object, type, getattribute),
                 {Value::constant(name)});
  } else {
    value = genericGetAttribute(translator, object, name);
  }
  // The error stands only as long as the class has no __getattr__.
  if (value || !attributeErrorPending(translator)) return value;
  Found fallback = translator.heap.lookup(type, getattr);
  if (!fallback) return value;
  translator.takeException();
  if (isPythonFunction(fallback.object)) {
    Value method = bindTypeAttribute(translator, fallback, object, type, getattr);
    return call(translator, method, {Value::constant(name)});
  }
  throw GraphBreak(GraphBreakKind::GetattrNotFunction, describe(object));
}

}  // namespace

bool genericSetAttribute(Translator& translator, const Value& object, PyObject* name,
                         const Value& value) {
  PyTypeObject* type = typeOf(object);
  Found found = translator.heap.lookup(type, name);
  if (found && translator.heap.isDataDescriptor(found.object)) {
    PyTypeObject* kind = Py_TYPE(found.object);
    if (kind == &PyProperty_Type) {
      const char* accessor = value ? "fset" : "fdel";
      Value setter =
          translator.realized(wrapMember(translator, found.source, found.object, accessor));
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
        if (!user->memberValues) {
          assignTrailed(translator.trail, user->memberValues,
                        translator.make<DictVariable>(static_cast<VariableTracker*>(user)));
        }
        if (!value) {
          throw GraphBreak(GraphBreakKind::DeletionOfSlot, describe(object));
        }
        Value key = Value::constant(found.object);
        bool isFirst = !user->memberValues->has(translator, key);
        if (isFirst && SideEffects::concerns(user)) {
          translator.effects.append({EffectKind::SlotSet, user, key, {}});
        }
        return user->memberValues->set(translator, key, value);
      }
    }
    static PyObject* const set = interned("__set__");
    Found setter = value ? translator.heap.lookup(kind, set) : Found();
    if (setter && isPythonFunction(setter.object) && found.source) {
      Value descriptor = translator.wrap(found.source, found.object);
      Value method = lookupSpecial(translator, descriptor, set);
      return method && call(translator, method, {object, value});
    }
    throw GraphBreak(GraphBreakKind::UnsupportedDescriptor,
                     describe(object) + "." + printable(name));
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
  return hookedGetAttribute(translator, object, name);
}

bool setAttribute(Translator& translator, Value object, PyObject* name, Value value) {
  translator.realize(object);
  if (SetAttributeFunction function = slotsOf(object).tp_setattro) {
    return function(translator, object, name, value);
  }
  return genericSetAttribute(translator, object, name, value);
}

Value readAttributeName(Translator& translator, Value name) {
  translator.realize(name);
  PyObject* object = name.objectOrNull();
  if (object && PyUnicode_CheckExact(object)) {
    Py_INCREF(object);
    PyUnicode_InternInPlace(&object);
    return Value::steal(object);
  }
  if (PyType_IsSubtype(typeOf(name), &PyUnicode_Type)) {
    throw GraphBreak(GraphBreakKind::AttributeNameSubclass, describe(name));
  }
  return translator.raise(PyExc_TypeError, "attribute name must be string, not '%.200s'",
                          typeOf(name)->tp_name);
}

Value getOptionalAttribute(Translator& translator, Value object, PyObject* name) {
  Value result = getAttribute(translator, std::move(object), name);
  if (!result && attributeErrorPending(translator)) translator.takeException();
  return result;
}

bool loadMethod(Translator& translator, Value object, PyObject* name, Value& function) {
  translator.realize(object);
  if (isConstantData(object)) {
    Found found = translator.heap.lookup(typeOf(object), name);
    if (found && isCMethod(found.object)) {
      function = Value::constant(found.object);
      return true;
    }
  }
  if (slotsOf(object).tp_getattro) {
    function = getAttribute(translator, object, name);
    return false;
  }
  PyTypeObject* type = typeOf(object);
  Found found = translator.heap.lookup(type, name);
  bool isMethod = found && (isPythonFunction(found.object) || isCMethod(found.object));
  if (!isMethod || ownGetattribute(translator, type)) {
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
  Found found = translator.heap.lookup(type, name);
  if (!found) return Value();
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
  return translator.knownClass(type);
}

}  // namespace armature
