// Attribute access: PyObject_GenericGetAttr, type_getattro's binding, and LOAD_METHOD.
#include "variables/protocol/attribute_protocol.h"
#include "variables/containers/dict_methods.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>

#include "core/builtin_part.h"
#include "core/checked.h"
#include "core/text.h"
#include "cpython/c_functions.h"
#include "cpython/instance_attributes.h"
#include "cpython/member_descriptors.h"
#include "cpython/type_lookup.h"
#include "variables/constants/computed_values.h"
#include "variables/constants/constant.h"
#include "variables/containers/dict.h"
#include "variables/containers/sequence.h"
#include "variables/containers/sequence_slots.h"
#include "variables/ends_of_objects.h"
#include "variables/functions/builtin_handlers.h"
#include "variables/functions/functions.h"
#include "variables/functions/partial.h"
#include "variables/kind_slots.h"
#include "variables/objects/exception.h"
#include "variables/objects/made_class.h"
#include "variables/objects/user_defined.h"
#include "variables/protocol/descriptors.h"
#include "variables/protocol/object_protocol.h"
#include "variables/trailed.h"

namespace armature {

namespace {

PyObject* interned(const char* name) { return staticName(name); }

bool isPythonFunction(PyObject* object) { return PyFunction_Check(object); }

bool isCMethod(PyObject* object) {
  PyTypeObject* type = Py_TYPE(object);
  return type == &PyMethodDescr_Type || type == &PyWrapperDescr_Type;
}

bool attributeErrorPending(Translator& translator) {
  return translator.exceptionPending() &&
         translator.heap.isSubtype(typeOf(translator.exception()),
                                   reinterpret_cast<PyTypeObject*>(PyExc_AttributeError));
}

// What a descriptor of int, str and their like reads of an instance of a subclass; null for others.
Value attributeOfPart(Translator& translator, PyObject* descriptor, const Value& instance,
                      PyObject* name) {
  PyTypeObject* owner = PyDescr_TYPE(descriptor);
  if (!dataLayout(owner)) return Value();
  Value data = builtinData(translator, instance);
  bool isOfData = data && PyType_IsSubtype(typeOf(data), owner);
  return isOfData ? translator.fromPython(Heap::attributeOfData(data.object(), name).release())
                  : Value();
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

// Does the trace know a variable of what was found, or a path to it? Without, it is a constant.
bool hasPath(Translator& translator, const Found& found) {
  return found.source || translator.madeClasses().standsFor(found.object);
}

// What cannot be told where the object has attributes that nobody looks at.
void requireKnownDict(const Value& object, PyObject* name) {
  bool isKnown = slotsOf(object).instanceDict || !cpython::hasInstanceDict(typeOf(object));
  if (isKnown) return;
  throw GraphBreak(GraphBreakKind::AttributeOfCObject, describe(object) + "." + printable(name));
}

// cm_descr_get: binds what is wrapped to the class, which is a call where that is a property.
Value boundClassMethod(Translator& translator, const Found& found, const Value& owner,
                       PyObject* name) {
  PyObject* descriptor = cpython::ownAttribute(&PyClassMethod_Type, "__func__");
  PyObject* member = cpython::memberValue(found.object, descriptor);
  Found wrapped = {member ? member : Py_None, nullptr};
  if (found.source) {
    wrapped.source = translator.sources->item(SourceKind::Slot, found.source, descriptor);
  }
  static PyObject* const get = interned("__get__");
  PyTypeObject* kind = Py_TYPE(wrapped.object);
  if (descriptorKind(translator, wrapped.object, get) == &PyProperty_Type) {
    return bindTypeAttribute(translator, wrapped, owner, typeOf(owner), name);
  }
  bool bindsAsMethod = isPythonFunction(wrapped.object) || findInstanceHandler(kind) ||
                       !translator.heap.hasGet(wrapped.object);
  if (!bindsAsMethod) {
    throw GraphBreak(
        GraphBreakKind::UnsupportedDescriptor,
        describe(owner) + "." + printable(name) + " (classmethod of " + kind->tp_name + ")");
  }
  return translator.make<BoundMethodVariable>(
      &PyMethod_Type, translator.wrap(wrapped.source, wrapped.object), owner);
}

// slot_tp_setattro: the class's own __setattr__ or __delattr__. False: it has none.
bool hookedSetAttribute(Translator& translator, const Value& object, PyObject* name,
                        const Value& value, bool tail, Value& result) {
  static PyObject* const setattr = interned("__setattr__");
  static PyObject* const delattr = interned("__delattr__");
  PyTypeObject* type = typeOf(object);
  if (cpython::isImmutable(type)) return false;
  PyObject* special = value ? setattr : delattr;
  Found found = translator.heap.lookup(type, special);
  if (!found || found.object == cpython::lookup(&PyBaseObject_Type, special)) return false;
  // A builtin type's own, of which the kind knows.
  bool isWrapper = Py_TYPE(found.object) == &PyWrapperDescr_Type;
  if (isWrapper && PyUnicode_Compare(PyDescr_NAME(found.object), special) == 0) return false;
  Value method = bindTypeAttribute(translator, found, object, type, special);
  Value key = Value::constant(name);
  if (method) {
    result = value ? call(translator, method, {key, value}, tail)
                   : call(translator, method, {key}, tail);
  }
  return true;
}

}  // namespace

void tellAttribute(Translator& translator, const Value& object, PyObject* name) {
  auto* error = trackerOf<ExceptionVariable>(translator.exception());
  if (!error) return;
  for (size_t i : {0, 1}) {
    Value member = translator.realized(fieldValue(translator, *error, i));
    if (member && !(error->existing() && member.is(Py_None))) return;
  }
  setField(translator, *error, 0, Value::constant(name));
  setField(translator, *error, 1, object);
}

Value bindTypeAttribute(Translator& translator, const Found& found, const Value& instance,
                        PyTypeObject* type, PyObject* name, bool tail) {
  static PyObject* const get = interned("__get__");
  PyObject* object = found.object;
  PyTypeObject* kind = descriptorKind(translator, object, get);
  auto owner = [&] {
    if (instance) return typeValue(translator, instance);
    return translator.knownClass(type);
  };
  if (isPythonFunction(object) || (findInstanceHandler(kind) && kind->tp_descr_get)) {
    Value function = translator.wrapOnce(found.source, object);
    if (!instance) return function;
    return translator.make<BoundMethodVariable>(&PyMethod_Type, function, instance);
  }
  if (kind == &PyStaticMethod_Type) {
    return wrapMember(translator, kind, found.source, object, "__func__");
  }
  if (kind == &PyClassMethod_Type) {
    return boundClassMethod(translator, found, owner(), name);
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
                         kind == tupleFieldType() || kind == &PyGetSetDescr_Type ||
                         kind == &PyMemberDescr_Type;
    if (answersItself) {
      if (!hasPath(translator, found) && isConstantObject(object)) return Value::constant(object);
      return translator.wrap(found.source, object);
    }
  }
  if (isCMethod(object)) {
    return translator.make<BoundMethodVariable>(cpython::boundType(object), Value::constant(object),
                                                instance);
  }
  if (kind == &PyProperty_Type) {
    Value getter = translator.realized(wrapMember(translator, kind, found.source, object, "fget"));
    if (getter.is(Py_None)) {
      return raiseNoAccessor(translator, object, type, "getter");
    }
    return call(translator, getter, {instance}, tail);
  }
  if (const BuiltinAttribute* attribute = findBuiltinAttribute(instance, object)) {
    return attribute->get(translator, instance);
  }
  if (kind == &PyMemberDescr_Type || kind == &PyGetSetDescr_Type) {
    Value value = attributeOfPart(translator, object, instance, name);
    if (value || translator.exceptionPending()) return value;
  }
  if (kind == &PyMemberDescr_Type) return memberOf(translator, found, instance, name);
  if (kind == &PyGetSetDescr_Type) return getsetValue(translator, instance, name);

  if (kind == &PyInstanceMethod_Type && instance) {
    PyObject* function = PyInstanceMethod_GET_FUNCTION(object);
    if (PyCFunction_Check(function)) {
      return translator.make<BoundMethodVariable>(&PyMethod_Type, Value::constant(function),
                                                  instance);
    }
  }

  // A field of a class over a namedtuple.
  if (auto* tuple = partOf<TupleVariable>(instance)) {
    int64_t index = tupleFieldIndex(type, object);
    if (index >= 0 && index < static_cast<int64_t>(tuple->items().size())) {
      return tuple->items()[index];
    }
  }

  // A descriptor class written in Python.
  Found getter = translator.heap.lookup(kind, get);
  if (getter && isPythonFunction(getter.object) && hasPath(translator, found)) {
    Value descriptor = translator.wrap(found.source, object);
    Value method = lookupSpecial(translator, descriptor, get);
    if (!method) return method;
    return call(translator, method, {instance ? instance : Value::none(), owner()}, tail);
  }
  throw GraphBreak(GraphBreakKind::UnsupportedDescriptor,
                   std::string(type->tp_name) + "." + printable(name) + " (" + kind->tp_name + ")");
}

namespace {

// Does the class's __getattr__ have the last word on an attribute that a module lacks? A module's
// own
// __getattr__ comes before it.
bool leavesToClass(Translator& translator, const Value& object) {
  static PyObject* const getattr = interned("__getattr__");
  DictVariable* dict = instanceDictOf(translator, object);
  return dict && translator.heap.lookup(typeOf(object), getattr) &&
         !dict->has(translator, Value::constant(getattr));
}

// _PyObject_GenericGetAttrWithDict without an error where there is no such attribute.
Value findAttribute(Translator& translator, const Value& object, PyObject* name, bool tail) {
  PyTypeObject* type = typeOf(object);
  Heap& heap = translator.heap;
  Found found = heap.lookup(type, name);
  if (found && heap.isDataDescriptor(found.object) && heap.hasGet(found.object)) {
    return bindTypeAttribute(translator, found, object, type, name, tail);
  }
  if (DictVariable* dict = instanceDictOf(translator, object)) {
    if (Value value = dict->get(translator, name)) return value;
  }
  requireKnownDict(object, name);
  if (found) return bindTypeAttribute(translator, found, object, type, name, tail);
  if (!leavesToClass(translator, object)) requireOwnErrors(object, name);
  return Value();
}

Value raiseNoAttribute(Translator& translator, const Value& object, PyObject* name) {
  noAttribute(translator, object, name);
  tellAttribute(translator, object, name);
  return Value();
}

}  // namespace

Value genericGetAttribute(Translator& translator, const Value& object, PyObject* name) {
  Value value = findAttribute(translator, object, name, false);
  if (value || translator.exceptionPending()) return value;
  return raiseNoAttribute(translator, object, name);
}

namespace {

// The __getattribute__ of a class that has one of its own; nothing where it is object's.
Found ownGetattribute(Translator& translator, PyTypeObject* type) {
  static PyObject* const getattribute = interned("__getattribute__");
  if (cpython::isImmutable(type)) return {};
  Found found = translator.heap.lookup(type, getattribute);
  bool isGeneric = found.object == cpython::lookup(&PyBaseObject_Type, getattribute) ||
                   // Where it finds something, it is as object's; see noAttribute().
                   found.object == cpython::lookup(&PyModule_Type, getattribute);
  return isGeneric ? Found() : found;
}

// What the class has under __getattr__.
Found getattrOf(Translator& translator, const Value& object) {
  static PyObject* const getattr = interned("__getattr__");
  return translator.heap.lookup(typeOf(object), getattr);
}

Value callGetattr(Translator& translator, const Value& object, PyObject* name, const Found& found,
                  bool tail) {
  static PyObject* const getattr = interned("__getattr__");
  if (!isPythonFunction(found.object)) {
    throw GraphBreak(GraphBreakKind::GetattrNotFunction, describe(object));
  }
  Value method = bindTypeAttribute(translator, found, object, typeOf(object), getattr);
  return call(translator, method, {Value::constant(name)}, tail);
}

}  // namespace

Value hookedGetAttribute(Translator& translator, const Value& object, PyObject* name, bool tail) {
  static PyObject* const getattribute = interned("__getattribute__");
  PyTypeObject* type = typeOf(object);
  Value value;
  Found own = ownGetattribute(translator, type);
  bool isWrapper = own && Py_TYPE(own.object) == &PyWrapperDescr_Type;
  if (own && !isWrapper && !isPythonFunction(own.object)) {
    throw GraphBreak(GraphBreakKind::GetattrNotFunction, describe(object));
  }
  if (own && !isWrapper) {
    value = call(translator, bindTypeAttribute(translator, own, object, type, getattribute),
                 {Value::constant(name)}, tail);
  } else {
    value = findAttribute(translator, object, name, tail);
  }
  return orGetattr(translator, object, name, std::move(value), tail,
                   [&] { return raiseNoAttribute(translator, object, name); });
}

Value orGetattr(Translator& translator, const Value& object, PyObject* name, Value value, bool tail,
                llvm::function_ref<Value()> missing) {
  if (value.isFramePushed()) {
    if (Found found = getattrOf(translator, object)) {
      Value fallback = hasPath(translator, found) ? translator.wrap(found.source, found.object)
                                                  : Value::constant(found.object);
      translator.onReturn(
          {OnReturn::AskGetattr, {object, Value::constant(name), std::move(fallback)}});
    }
    return value;
  }
  if (value || (translator.exceptionPending() && !attributeErrorPending(translator))) return value;
  // The error stands only as long as the class has no __getattr__, which is why it is made late.
  Found found = getattrOf(translator, object);
  if (!found) {
    return translator.exceptionPending() ? value : missing();
  }
  if (translator.exceptionPending()) translator.dropException();
  return callGetattr(translator, object, name, found, tail);
}

Value askGetattr(Translator& translator, const Value& object, PyObject* name, bool tail) {
  Found found = getattrOf(translator, object);
  if (!found) return Value();
  translator.dropException();
  return callGetattr(translator, object, name, found, tail);
}

namespace {

// member_set of a slot; a null `value` deletes.
bool setMember(Translator& translator, UserObjectVariable* object, const Found& found,
               PyObject* name, const Value& value) {
  if (cpython::isReadOnly(found.object)) {  // PyMember_SetOne
    translator.raise(PyExc_AttributeError, "readonly attribute");
    return false;
  }
  if (!value) {
    // Whether it has a value is guarded with the value.
    Value present = memberOf(translator, found, object, name);
    if (!present) {
      translator.dropException();
      translator.raise(PyExc_AttributeError, "%U", name);
      return false;
    }
    translator.realize(present);
  }
  if (!object->memberValues) {
    assignTrailed(translator.trail, object->memberValues,
                  translator.make<DictVariable>(static_cast<VariableTracker*>(object)));
  }
  Value key = Value::constant(found.object);
  if (translator.effects.concerns(object) && !isWritten(object, key)) {
    if (cpython::memberValue(object->existing(), found.object)) {
      letGo(translator, memberOf(translator, found, object, name), object->memberValues);
    }
    translator.effects.append({EffectKind::SlotSet, object, key, {}});
  }
  bool ok = object->memberValues->set(translator, key, value ? value : Value::none());
  if (ok && !value) object->memberValues->remove(translator, key);
  return ok;
}

}  // namespace

namespace {

// By a data descriptor of the class. What it gives means nothing, if it is not null.
Value setByDescriptor(Translator& translator, const Found& found, const Value& object,
                      PyObject* name, const Value& value, bool tail) {
  auto done = [](bool ok) { return ok ? Value::none() : Value(); };
  static PyObject* const set = interned("__set__");
  static PyObject* const remove = interned("__delete__");
  PyTypeObject* kind = descriptorKind(translator, found.object, value ? set : remove);
  if (kind == &PyProperty_Type) {
    const char* accessor = value ? "fset" : "fdel";
    Value setter =
        translator.realized(wrapMember(translator, kind, found.source, found.object, accessor));
    if (setter.is(Py_None)) {
      return raiseNoAccessor(translator, found.object, typeOf(object),
                             value ? "setter" : "deleter");
    }
    return value ? call(translator, setter, {object, value}, tail)
                 : call(translator, setter, {object}, tail);
  }
  if (kind == &PyMemberDescr_Type) {
    if (auto* user = trackerOf<UserObjectVariable>(object)) {
      return done(setMember(translator, user, found, name, value));
    }
  }
  if (const BuiltinAttribute* attribute = findBuiltinAttribute(object, found.object);
      attribute && attribute->set) {
    return done(attribute->set(translator, object, value));
  }
  // slot_tp_descr_set
  PyObject* special = value ? set : remove;
  Found setter = translator.heap.lookup(kind, special);
  if (setter && isPythonFunction(setter.object) && hasPath(translator, found)) {
    Value descriptor = translator.wrap(found.source, found.object);
    Value method = lookupSpecial(translator, descriptor, special);
    if (!method) return method;
    return value ? call(translator, method, {object, value}, tail)
                 : call(translator, method, {object}, tail);
  }
  // A class that has the one has the slot of both.
  Found other = translator.heap.lookup(kind, value ? remove : set);
  if (!setter && other && isPythonFunction(other.object)) {
    return translator.raise(PyExc_AttributeError, "%U", special);
  }
  throw GraphBreak(GraphBreakKind::UnsupportedDescriptor, describe(object) + "." + printable(name));
}

}  // namespace

bool genericSetAttribute(Translator& translator, const Value& object, PyObject* name,
                         const Value& value) {
  PyTypeObject* type = typeOf(object);
  Found found = translator.heap.lookup(type, name);
  if (found && translator.heap.isDataDescriptor(found.object)) {
    return static_cast<bool>(setByDescriptor(translator, found, object, name, value, false));
  }
  if (DictVariable* dict = instanceDictOf(translator, object)) {
    Value key = Value::constant(name);
    requireHeardOf(translator, dict, key, value);
    if (value) return dict->set(translator, key, value);
    if (dict->remove(translator, key)) return true;
    // Where the object has its attributes inline, it has a dict only if somebody asked for it.
    if (cpython::keepsInlineValues(type) || cpython::deletionErrorNamesObject()) {
      noAttribute(translator, object, name);
    } else {
      translator.raise(PyExc_AttributeError, "%U", name);
    }
    return false;
  }
  requireKnownDict(object, name);
  if (found.object) {
    translator.raise(PyExc_AttributeError, "'%.100s' object attribute '%U' is read-only",
                     nameOf(translator, type), name);
  } else {
    noAttribute(translator, object, name);
  }
  return false;
}

Value getAttribute(Translator& translator, Value object, PyObject* name, bool tail) {
  if (Value method = computedMethod(translator, object, name)) return method;
  translator.realize(object);
  GetAttributeFunction function = slotsOf(object).tp_getattro;
  Value value;
  if (!function) {
    value = hookedGetAttribute(translator, object, name, tail);
  } else if (function == kUserClassSlots.tp_getattro) {
    value = classAttribute(translator, object, name, tail);
  } else if (function == kSuperSlots.tp_getattro) {
    value = superAttribute(translator, object, name, tail);
  } else {
    value = function(translator, object, name);
  }
  if (value && !value.isFramePushed()) return value;
  return then(translator, std::move(value),
              {OnReturn::TellAttribute, {object, Value::constant(name)}});
}

Value assignAttribute(Translator& translator, Value object, PyObject* name, Value value,
                      bool tail) {
  translator.realize(object);
  if (Value result; hookedSetAttribute(translator, object, name, value, tail, result)) {
    return result;
  }
  SetAttributeFunction function = slotsOf(object).tp_setattro;
  if (tail && function == kUserObjectSlots.tp_setattro) {
    Found found = translator.heap.lookup(typeOf(object), name);
    bool isBuiltin = !found || Py_TYPE(found.object) == &PyGetSetDescr_Type;
    if (!isBuiltin && translator.heap.isDataDescriptor(found.object)) {
      return setByDescriptor(translator, found, object, name, value, tail);
    }
  }
  bool ok = function ? function(translator, object, name, value)
                     : genericSetAttribute(translator, object, name, value);
  return ok ? Value::none() : Value();
}

bool setAttribute(Translator& translator, Value object, PyObject* name, Value value) {
  return static_cast<bool>(
      assignAttribute(translator, std::move(object), name, std::move(value), false));
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
                          nameOf(translator, typeOf(name)));
}

Value getOptionalAttribute(Translator& translator, Value object, PyObject* name) {
  Value result = getAttribute(translator, std::move(object), name);
  if (!result && attributeErrorPending(translator)) translator.dropException();
  return result;
}

bool loadMethod(Translator& translator, Value object, PyObject* name, Value& function, bool tail) {
  if (PyObject* method = computableMethod(translator, object, name)) {
    function = Value::constant(method);
    return true;
  }
  translator.realize(object);
  if (isConstantData(object)) {
    Found found = translator.heap.lookup(typeOf(object), name);
    if (found && isCMethod(found.object)) {
      function = Value::constant(found.object);
      return true;
    }
  }
  if (slotsOf(object).tp_getattro) {
    function = getAttribute(translator, object, name, tail);
    return false;
  }
  PyTypeObject* type = typeOf(object);
  Found found = translator.heap.lookup(type, name);
  bool isMethod = found && (isPythonFunction(found.object) || isCMethod(found.object));
  if (!isMethod || ownGetattribute(translator, type)) {
    function = getAttribute(translator, object, name, tail);
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
  if (auto* exception = trackerOf<ExceptionVariable>(object)) return exception->classVariable;
  return translator.knownClass(type);
}

}  // namespace armature
