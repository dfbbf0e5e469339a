// types.SimpleNamespace: objects of a type in C that are nothing but their __dict__.
#include "cpython/simple_namespace.h"

#include "core/checked.h"
#include "variables/containers/dict.h"
#include "variables/functions/builtin_handlers.h"
#include "variables/kind_slots.h"
#include "variables/objects/user_defined.h"
#include "variables/protocol/object_protocol.h"
#include "variables/protocol/repr_recursion.h"

namespace armature {

namespace {

DictVariable* attributesOf(Translator& translator, const Value& value) {
  auto* object = trackerOf<UserObjectVariable>(value);
  bool isNamespace = object && PyType_IsSubtype(object->type(), cpython::simpleNamespaceType());
  return isNamespace ? slotsOf(value).instanceDict(translator, value) : nullptr;
}

// The errors of a wrong call of a slot wrapper are Python's.
void requireArguments(const Value& self, const CallArguments& arguments, size_t count) {
  if (!arguments.keywordCount() && arguments.values.size() == count) return;
  throw GraphBreak(GraphBreakKind::SpecialMethodArguments, describe(self));
}

// namespace_init
Value init(Translator& translator, const Value& self, CallArguments& arguments) {
  if (arguments.positionalCount()) {
    return translator.raise(PyExc_TypeError, "no positional arguments expected");
  }
  DictVariable* attributes = attributesOf(translator, self);
  if (!attributes) throw GraphBreak(GraphBreakKind::UnknownCFunction, "SimpleNamespace.__init__");
  for (size_t i = 0; i < arguments.keywordCount(); ++i) {
    if (!attributes->set(translator, Value::constant(arguments.keywordName(i)),
                         arguments.keywordValue(i))) {
      return Value();
    }
  }
  return Value::none();
}

Value construct(Translator& translator, const Value&, CallArguments& arguments) {
  PyTypeObject* type = cpython::simpleNamespaceType();
  auto* cls = translator.make<UserClassVariable>(nullptr, reinterpret_cast<PyObject*>(type));
  Value made = translator.make<UserObjectVariable>(cls);
  return init(translator, made, arguments) ? made : Value();
}

// namespace_richcompare
template <int op>
Value compare(Translator& translator, const Value& self, CallArguments& arguments) {
  requireArguments(self, arguments, 1);
  DictVariable* left = attributesOf(translator, self);
  DictVariable* right = attributesOf(translator, translator.realized(arguments.values[0]));
  if (!left) throw GraphBreak(GraphBreakKind::UnknownCFunction, "SimpleNamespace.__eq__");
  if (!right) return Value::constant(Py_NotImplemented);
  return richCompare(translator, left, right, op);
}

// namespace_repr
Value repr(Translator& translator, const Value& self, CallArguments& arguments) {
  requireArguments(self, arguments, 0);
  DictVariable* attributes = attributesOf(translator, self);
  if (!attributes) throw GraphBreak(GraphBreakKind::UnknownCFunction, "SimpleNamespace.__repr__");
  bool isExact = typeOf(self) == cpython::simpleNamespaceType();
  const char* name = isExact ? "namespace" : nameOf(translator, typeOf(self));
  ReprRecursion recursion(self);
  if (recursion.entered()) return translator.fromPython(PyUnicode_FromFormat("%s(...)", name));
  ValueVector keys;
  attributes->forEach(translator, [&](const OrderedValueMap::Entry& entry) {
    PyObject* key = entry.key.objectOrNull();
    bool isName = key && PyUnicode_Check(key) && PyUnicode_GET_LENGTH(key) > 0;
    if (isName) keys.push_back(entry.key);
  });
  Ref<> text = checked(PyUnicode_FromString(""));
  const char* separator = "";
  for (const Value& key : keys) {
    // The text of another may have deleted it.
    Value value = attributes->get(translator, key.object());
    if (!value) continue;
    Value valueText = toRepr(translator, std::move(value));
    if (!valueText) return valueText;
    text = checked(
        PyUnicode_FromFormat("%U%s%U=%U", text.get(), separator, key.object(), valueText.object()));
    separator = ", ";
  }
  return translator.fromPython(PyUnicode_FromFormat("%s(%U)", name, text.get()));
}

void registerSimpleNamespaces() {
  PyTypeObject* type = cpython::simpleNamespaceType();
  registerObjectHandler(reinterpret_cast<PyObject*>(type), construct);
  registerMethodHandler(type, "__init__", init);
  registerMethodHandler(type, "__lt__", compare<Py_LT>);
  registerMethodHandler(type, "__le__", compare<Py_LE>);
  registerMethodHandler(type, "__eq__", compare<Py_EQ>);
  registerMethodHandler(type, "__ne__", compare<Py_NE>);
  registerMethodHandler(type, "__gt__", compare<Py_GT>);
  registerMethodHandler(type, "__ge__", compare<Py_GE>);
  registerMethodHandler(type, "__repr__", repr);
}

ARMATURE_REGISTER_HANDLERS(registerSimpleNamespaces);

}  // namespace

}  // namespace armature
