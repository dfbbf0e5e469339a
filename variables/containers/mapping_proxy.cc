#include "variables/containers/mapping_proxy.h"

#include "core/checked.h"
#include "cpython/type_lookup.h"
#include "variables/containers/dict.h"
#include "variables/functions/arguments.h"
#include "variables/functions/builtin_handlers.h"
#include "variables/kind_slots.h"
#include "variables/objects/made_class.h"
#include "variables/objects/user_defined.h"
#include "variables/protocol/object_protocol.h"
#include "variables/protocol/slot_wrappers.h"

namespace armature {

namespace {

const Value& mappingOf(const Value& self) {
  return requireKind<MappingProxyVariable>(self)->mapping;
}

Value subscript(Translator& translator, const Value& self, const Value& key) {
  return getItem(translator, mappingOf(self), key);
}

Value length(Translator& translator, const Value& self) {
  return lengthOf(translator, mappingOf(self), false);
}

Value containsKey(Translator& translator, const Value& self, const Value& key) {
  return isContained(translator, mappingOf(self), key, false);
}

Value iterate(Translator& translator, const Value& self) {
  return getIterator(translator, mappingOf(self));
}

Value compare(Translator& translator, const Value& left, const Value& right, int op) {
  return richCompare(translator, mappingOf(left), right, op);
}

Value unite(Translator& translator, NumberSlot slot, const Value& left, const Value& right) {
  auto behind = [](const Value& operand) {
    auto* proxy = trackerOf<MappingProxyVariable>(operand);
    return proxy ? proxy->mapping : operand;
  };
  return binaryOperation(translator, slot, behind(left), behind(right));
}

Value repr(Translator& translator, const Value& self) {
  Value text = toRepr(translator, mappingOf(self));
  return text ? translator.fromPython(PyUnicode_FromFormat("mappingproxy(%U)", text.object()))
              : text;
}

Value str(Translator& translator, const Value& self) { return toStr(translator, mappingOf(self)); }

// mappingproxy_get
Value get(Translator& translator, const Value& self, CallArguments& arguments) {
  if (!checkArgumentCount(translator, "get", arguments, 1, 2)) return Value();
  Value fallback = arguments.values.size() > 1 ? arguments.values[1] : Value::none();
  return callMethod(translator, mappingOf(self), "get", {arguments.values[0], fallback});
}

// Methods without arguments, which are the mapping's own.
template <const char* const& name>
Value forward(Translator& translator, const Value& self, CallArguments& arguments) {
  if (!checkArgumentCount(translator, name, arguments, 0, 0)) return Value();
  return callMethod(translator, mappingOf(self), name, {});
}

constexpr const char* kKeys = "keys";
constexpr const char* kValues = "values";
constexpr const char* kItems = "items";
constexpr const char* kCopy = "copy";
constexpr const char* kReversed = "__reversed__";

// MappingProxyType(mapping)
Value construct(Translator& translator, const Value&, CallArguments& arguments) {
  static constexpr Signature kSignature = {"mappingproxy", {"mapping"}, 1, 1};
  Value mapping;
  if (!readArguments(translator, kSignature, arguments, {&mapping})) return Value();
  translator.realize(mapping);
  bool isMapping = partOf<DictVariable>(mapping) || trackerOf<MappingProxyVariable>(mapping);
  if (!isMapping) {
    throw GraphBreak(GraphBreakKind::UnsupportedOperation, "mappingproxy of " + describe(mapping));
  }
  return translator.make<MappingProxyVariable>(std::move(mapping));
}

void registerMappingProxies() {
  PyTypeObject* type = &PyDictProxy_Type;
  registerObjectHandler(reinterpret_cast<PyObject*>(type), construct);
  registerSlotWrappers(type);
  registerMethodHandler(type, "get", get);
  registerMethodHandler(type, "keys", forward<kKeys>);
  registerMethodHandler(type, "values", forward<kValues>);
  registerMethodHandler(type, "items", forward<kItems>);
  registerMethodHandler(type, "copy", forward<kCopy>);
  registerMethodHandler(type, "__reversed__", forward<kReversed>);
}
ARMATURE_REGISTER_HANDLERS(registerMappingProxies);

TypeSlots makeMappingProxySlots() {
  TypeSlots slots;
  slots.nb[nb_or] = unite;
  slots.nb[nb_inplace_or] = unimplemented::binary;
  slots.mp_length = length;
  slots.mp_subscript = subscript;
  slots.sq_contains = containsKey;
  slots.tp_iter = iterate;
  slots.tp_richcompare = compare;
  if (cpython::fillsSlot(&PyDictProxy_Type, cpython::SpecialSlot::Hash)) {
    slots.tp_hash = unimplemented::unary;
  }
  slots.tp_repr = repr;
  slots.tp_str = str;
  return slots;
}

}  // namespace

Value classDict(Translator& translator, PyTypeObject* type) {
  if (MadeClass* made = translator.madeClasses().find(type)) {
    return translator.make<MappingProxyVariable>(made->attributes);
  }
  Found dict = translator.heap.dictOf(type);
  return translator.make<MappingProxyVariable>(
      translator.realized(translator.wrap(dict.source, dict.object)));
}

const TypeSlots kMappingProxySlots = makeMappingProxySlots();

}  // namespace armature
