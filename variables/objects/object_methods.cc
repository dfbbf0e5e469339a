// object's own methods, reached through super() or object.__setattr__.
#include "core/checked.h"
#include "variables/functions/builtin_handlers.h"
#include "variables/protocol/attribute_protocol.h"
#include "variables/protocol/object_protocol.h"

namespace armature {

namespace {

PyObject* name(const char* text) { return staticName(text); }

// As CPython's object_init: whether arguments are too many depends on what else would take them.
Value objectInitMethod(Translator& translator, const Value& self, CallArguments& arguments) {
  if (arguments.values.empty()) return Value::none();
  static PyObject* const initName = name("__init__");
  PyTypeObject* type = typeOf(self);
  if (!translator.heap.inherits(type, &PyBaseObject_Type, initName)) {
    return translator.raise(
        PyExc_TypeError,
        "object.__init__() takes exactly one argument (the instance to initialize)");
  }
  if (translator.heap.hasNewOf(type, &PyBaseObject_Type)) {
    return translator.raise(
        PyExc_TypeError,
        "%.200s.__init__() takes exactly one argument (the instance to initialize)",
        nameOf(translator, type));
  }
  return Value::none();
}

// PyObject_GenericSetAttr, or a break for what the trace cannot look into.
bool setGenerically(Translator& translator, const Value& self, PyObject* name, const Value& value) {
  Value object = translator.realized(self);
  // Classes have a __setattr__ of their own, which must not be gone round (hackcheck).
  bool isClass = translator.heap.isSubtype(typeOf(object), &PyType_Type);
  if (isClass || slotsOf(object).tp_setattro == unimplemented::setAttribute) {
    return unimplemented::setAttribute(translator, object, name, value);
  }
  return genericSetAttribute(translator, object, name, value);
}

Value objectSetattrMethod(Translator& translator, const Value& self, CallArguments& arguments) {
  if (arguments.positionalCount() != 2) {
    // PyArg_UnpackTuple, given no name by wrap_setattr.
    return translator.raise(PyExc_TypeError, " expected 2 arguments, got %zu",
                            arguments.positionalCount());
  }
  Value attribute = readAttributeName(translator, arguments.values[0]);
  if (!attribute) return attribute;
  return setGenerically(translator, self, attribute.object(), arguments.values[1]) ? Value::none()
                                                                                   : Value();
}

Value objectDelattrMethod(Translator& translator, const Value& self, CallArguments& arguments) {
  if (!checkWrapperArguments(translator, "__delattr__", arguments, 1)) return Value();
  Value attribute = readAttributeName(translator, arguments.values[0]);
  if (!attribute) return attribute;
  return setGenerically(translator, self, attribute.object(), Value()) ? Value::none() : Value();
}

Value objectGetattributeMethod(Translator& translator, const Value& self,
                               CallArguments& arguments) {
  if (!checkWrapperArguments(translator, "__getattribute__", arguments, 1)) return Value();
  Value attribute = readAttributeName(translator, arguments.values[0]);
  if (!attribute) return attribute;
  Value object = translator.realized(self);
  // They find attributes in ways of their own.
  bool isSpecial = translator.heap.isSubtype(typeOf(object), &PyType_Type) ||
                   translator.heap.isSubtype(typeOf(object), &PyModule_Type);
  if (isSpecial || slotsOf(object).tp_getattro == unimplemented::getAttribute) {
    return unimplemented::getAttribute(translator, object, attribute.object());
  }
  return genericGetAttribute(translator, object, attribute.object());
}

// object_richcompare for ==.
Value objectEqMethod(Translator& translator, const Value& self, CallArguments& arguments) {
  if (!checkWrapperArguments(translator, "__eq__", arguments, 1)) return Value();
  bool same = isSame(translator, self, arguments.values[0]);
  return same ? Value::boolean(true) : Value::constant(Py_NotImplemented);
}

// For !=: what the type says of ==, inverted.
Value objectNeMethod(Translator& translator, const Value& self, CallArguments& arguments) {
  if (!checkWrapperArguments(translator, "__ne__", arguments, 1)) return Value();
  static PyObject* const eq = name("__eq__");
  Value method = lookupSpecial(translator, self, eq);
  if (!method) {
    // One that fails to bind is none.
    translator.dropException();
    return Value::constant(Py_NotImplemented);
  }
  Value equal = call(translator, method, {arguments.values[0]});
  if (!equal || translator.realized(equal).is(Py_NotImplemented)) return equal;
  int truth = isTrue(translator, equal);
  return truth < 0 ? Value() : Value::boolean(!truth);
}

// For < and its like.
Value objectOrderMethod(Translator& translator, const Value&, CallArguments& arguments) {
  return checkWrapperArguments(translator, "__lt__", arguments, 1)
             ? Value::constant(Py_NotImplemented)
             : Value();
}

Value objectStrMethod(Translator& translator, const Value& self, CallArguments& arguments) {
  if (!checkWrapperArguments(translator, "__str__", arguments, 0)) return Value();
  return toRepr(translator, self);
}

void registerObjectHandlers() {
  registerMethodHandler(&PyBaseObject_Type, "__eq__", objectEqMethod);
  registerMethodHandler(&PyBaseObject_Type, "__ne__", objectNeMethod);
  for (const char* order : {"__lt__", "__le__", "__gt__", "__ge__"}) {
    registerMethodHandler(&PyBaseObject_Type, order, objectOrderMethod);
  }
  registerMethodHandler(&PyBaseObject_Type, "__str__", objectStrMethod);
  registerMethodHandler(&PyBaseObject_Type, "__init__", objectInitMethod);
  registerMethodHandler(&PyBaseObject_Type, "__setattr__", objectSetattrMethod);
  registerMethodHandler(&PyBaseObject_Type, "__delattr__", objectDelattrMethod);
  registerMethodHandler(&PyBaseObject_Type, "__getattribute__", objectGetattributeMethod);
}
ARMATURE_REGISTER_HANDLERS(registerObjectHandlers);

}  // namespace

}  // namespace armature
