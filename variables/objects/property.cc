#include "variables/objects/property.h"

#include "variables/containers/sequence_slots.h"
#include "variables/functions/arguments.h"
#include "variables/functions/builtin_handlers.h"
#include "variables/functions/functions.h"
#include "variables/kind_slots.h"
#include "variables/protocol/object_protocol.h"

namespace armature {

namespace {

// They read the attributes of what they wrap, so it is a function that nobody has given others.
Value requireFunction(Translator& translator, const Value& value) {
  Value function = translator.realized(value);
  auto* variable = trackerOf<UserFunctionVariable>(function);
  if (!variable || variable->members || variable->dict) {
    throw GraphBreak(GraphBreakKind::UnsupportedDescriptor, "of " + describe(function));
  }
  return function;
}

std::array<Value, 4> onlyPart(Value value) {
  return {std::move(value), Value::none(), Value::none(), Value::none()};
}

Value wrapper(Translator& translator, PyTypeObject* type, const Value& function) {
  return translator.make<PropertyVariable>(type, onlyPart(requireFunction(translator, function)));
}

// tuplegetter_new
Value constructTupleField(Translator& translator, const Value&, CallArguments& arguments) {
  bool isKnown = arguments.values.size() == 2 && !arguments.keywordCount();
  Value index = isKnown ? translator.realized(arguments.values[0]) : Value();
  if (!index || typeOf(index) != &PyLong_Type || !index.isConstant()) {
    throw GraphBreak(GraphBreakKind::UnsupportedDescriptor, tupleFieldType()->tp_name);
  }
  std::array<Value, 4> parts = onlyPart(index);
  parts[1] = translator.realized(arguments.values[1]);
  return translator.make<PropertyVariable>(tupleFieldType(), std::move(parts));
}

template <PyTypeObject& type>
Value constructWrapper(Translator& translator, const Value&, CallArguments& arguments) {
  if (arguments.keywordCount() || arguments.values.size() != 1) {
    throw GraphBreak(GraphBreakKind::BuiltinWithTracedArguments, type.tp_name);
  }
  return wrapper(translator, &type, arguments.values[0]);
}

Value constructProperty(Translator& translator, const Value&, CallArguments& arguments) {
  static constexpr Signature kSignature = {"property", {"fget", "fset", "fdel", "doc"}, 0, 4};
  std::array<Value, 4> parts = {Value::none(), Value::none(), Value::none(), Value::none()};
  if (!readArguments(translator, kSignature, arguments,
                     {&parts[0], &parts[1], &parts[2], &parts[3]})) {
    return Value();
  }
  for (size_t i = 0; i < 3; ++i) {
    translator.realize(parts[i]);
    if (!parts[i].is(Py_None)) parts[i] = requireFunction(translator, parts[i]);
  }
  translator.realize(parts[3]);
  return translator.make<PropertyVariable>(&PyProperty_Type, std::move(parts));
}

// property.getter(f) and its like: property_copy.
template <size_t part>
Value copyWith(Translator& translator, const Value& self, CallArguments& arguments) {
  auto* property = trackerOf<PropertyVariable>(self);
  if (!property || arguments.values.size() != 1 || arguments.keywordCount()) {
    throw GraphBreak(GraphBreakKind::UnsupportedDescriptor, describe(self));
  }
  std::array<Value, 4> parts = property->parts;
  Value given = translator.realized(arguments.values[0]);
  // None leaves what there is.
  if (!given.is(Py_None)) parts[part] = requireFunction(translator, given);
  return translator.make<PropertyVariable>(&PyProperty_Type, std::move(parts));
}

template <size_t part>
Value readPart(Translator& translator, const Value& self) {
  auto* property = trackerOf<PropertyVariable>(self);
  return property ? property->parts[part] : unimplemented::unary(translator, self);
}

PyObject* const kProperty = reinterpret_cast<PyObject*>(&PyProperty_Type);
PyObject* const kStaticMethod = reinterpret_cast<PyObject*>(&PyStaticMethod_Type);
PyObject* const kClassMethod = reinterpret_cast<PyObject*>(&PyClassMethod_Type);

PyObject* tupleField = nullptr;  // registered below

constexpr BuiltinAttribute kAttributes[] = {
    {&tupleField, "__doc__", readPart<1>, nullptr},
    {&kProperty, "fget", readPart<0>, nullptr},
    {&kProperty, "fset", readPart<1>, nullptr},
    {&kProperty, "fdel", readPart<2>, nullptr},
    {&kStaticMethod, "__func__", readPart<0>, nullptr},
    {&kStaticMethod, "__wrapped__", readPart<0>, nullptr},
    {&kClassMethod, "__func__", readPart<0>, nullptr},
    {&kClassMethod, "__wrapped__", readPart<0>, nullptr},
};

// sm_call
Value callProperty(Translator& translator, const Value& callable, CallArguments& arguments) {
  auto* property = requireKind<PropertyVariable>(callable);
  if (property->type() != &PyStaticMethod_Type) {
    return translator.raise(PyExc_TypeError, "'%.200s' object is not callable",
                            property->type()->tp_name);
  }
  return call(translator, property->parts[0], arguments);
}

TypeSlots makePropertySlots() {
  TypeSlots slots;
  slots.tp_call = callProperty;
  slots.tp_hash = unimplemented::unary;
  slots.tp_repr = unimplemented::unary;
  slots.tp_setattro = unimplemented::setAttribute;
  slots.getset = kAttributes;
  return slots;
}

void registerProperties() {
  tupleField = reinterpret_cast<PyObject*>(tupleFieldType());
  registerObjectHandler(kProperty, constructProperty);
  registerObjectHandler(kStaticMethod, constructWrapper<PyStaticMethod_Type>);
  registerObjectHandler(kClassMethod, constructWrapper<PyClassMethod_Type>);
  registerObjectHandler(reinterpret_cast<PyObject*>(tupleFieldType()), constructTupleField);
  registerMethodHandler(&PyProperty_Type, "getter", copyWith<0>);
  registerMethodHandler(&PyProperty_Type, "setter", copyWith<1>);
  registerMethodHandler(&PyProperty_Type, "deleter", copyWith<2>);
}
ARMATURE_REGISTER_HANDLERS(registerProperties);

}  // namespace

size_t PropertyVariable::partCount() const {
  return type() == &PyProperty_Type ? 4 : type() == tupleFieldType() ? 2 : 1;
}

Value makeStaticMethod(Translator& translator, const Value& function) {
  return translator.make<PropertyVariable>(&PyStaticMethod_Type, onlyPart(function), false);
}

Value makeClassMethod(Translator& translator, const Value& function) {
  return translator.make<PropertyVariable>(&PyClassMethod_Type, onlyPart(function), false);
}

const TypeSlots kPropertySlots = makePropertySlots();

}  // namespace armature
