#include "variables/functions/key_wrapper.h"

#include "core/checked.h"
#include "core/pending_python_exception.h"
#include "cpython/imported_modules.h"
#include "variables/functions/arguments.h"
#include "variables/functions/builtin_handlers.h"
#include "variables/kind_slots.h"
#include "variables/protocol/object_protocol.h"
#include "variables/translator.h"

namespace armature {

namespace {

// functools.KeyWrapper, which has no name that a program could replace.
PyTypeObject* wrapperType() {
  static PyTypeObject* const type =
      Py_TYPE(checked(PyObject_CallOneArg(comparisonToKey(), Py_None)).release());
  return type;
}

// functools.cmp_to_key(mycmp)
Value construct(Translator& translator, const Value&, CallArguments& arguments) {
  static constexpr Signature kSignature = {"cmp_to_key", {"mycmp"}, 1, 1};
  Value comparison;
  if (!readArguments(translator, kSignature, arguments, {&comparison})) return Value();
  return translator.make<KeyWrapperVariable>(wrapperType(), std::move(comparison), Value());
}

// keyobject_call
Value makeKey(Translator& translator, const Value& self, CallArguments& arguments) {
  auto* wrapper = requireKind<KeyWrapperVariable>(self);
  static constexpr Signature kSignature = {"K", {"obj"}, 1, 1};
  Value object;
  if (!readArguments(translator, kSignature, arguments, {&object})) return Value();
  return translator.make<KeyWrapperVariable>(wrapper->type(), wrapper->comparison,
                                             std::move(object));
}

// keyobject_richcompare
Value compareKeys(Translator& translator, const Value& left, const Value& right, int op) {
  auto* key = requireKind<KeyWrapperVariable>(left);
  if (typeOf(right) != key->type()) {
    return translator.raise(PyExc_TypeError, "other argument must be K instance");
  }
  auto* other = trackerOf<KeyWrapperVariable>(right);
  if (!other) return unimplemented::compare(translator, left, right, op);
  if (!key->object || !other->object) return translator.raise(PyExc_AttributeError, "object");
  Value answer = call(translator, key->comparison, {key->object, other->object});
  return answer ? richCompare(translator, std::move(answer), Value::integer(0), op) : answer;
}

// The member "obj".
Value wrappedObject(Translator&, const Value& self) {
  const Value& object = requireKind<KeyWrapperVariable>(self)->object;
  return object ? object : Value::none();
}

PyObject* wrapperOwner = nullptr;

void registerKeyWrapper() {
  if (!comparisonToKey()) return;
  wrapperOwner = reinterpret_cast<PyObject*>(wrapperType());
  registerFunctionHandler("_functools", "cmp_to_key", construct);
}
ARMATURE_REGISTER_HANDLERS(registerKeyWrapper);

const BuiltinAttribute kAttributes[] = {{&wrapperOwner, "obj", wrappedObject, nullptr}};

TypeSlots makeKeyWrapperSlots() {
  TypeSlots slots;
  slots.tp_call = makeKey;
  slots.tp_richcompare = compareKeys;
  slots.getset = kAttributes;
  slots.tp_repr = unimplemented::unary;
  return slots;
}

}  // namespace

PyObject* comparisonToKey() {
  static PyObject* const function = [] {
    Ref<> module = checked(cpython::importModule("_functools"));
    Ref<> found = Ref<>::steal(PyObject_GetAttrString(module.get(), "cmp_to_key"));
    clearException();
    return found && PyCFunction_CheckExact(found.get()) ? found.release() : nullptr;
  }();
  return function;
}

const TypeSlots kKeyWrapperSlots = makeKeyWrapperSlots();

}  // namespace armature
