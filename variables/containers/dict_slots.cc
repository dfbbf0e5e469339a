// The slots of dict, OrderedDict and defaultdict.
#include "core/checked.h"
#include "cpython/type_lookup.h"
#include "variables/containers/dict_methods.h"
#include "variables/containers/iterators.h"
#include "variables/functions/builtin_handlers.h"
#include "variables/kind_slots.h"
#include "variables/objects/instance_dict.h"
#include "variables/objects/user_defined.h"
#include "variables/protocol/equality.h"
#include "variables/protocol/object_protocol.h"
#include "variables/protocol/repr_recursion.h"
#include "variables/trailed.h"

namespace armature {

namespace {

Value subscript(Translator& translator, const Value& self, const Value& key) {
  DictVariable* dict = dictOf(self);
  if (Value value = dict->get(translator, key)) return value;
  if (translator.exceptionPending()) return Value();
  if (dict->type() == defaultDictType()) {
    Value value = defaultDictMissing(translator, dict, key);
    if (value || translator.exceptionPending()) return value;
  }
  if (dict->instance) {
    // dict_subscript asks an instance of a subclass for __missing__.
    static PyObject* const name = staticName("__missing__");
    if (Value missing = lookupSpecial(translator, dict->instance, name)) {
      return call(translator, missing, {key});
    }
    if (translator.exceptionPending()) return Value();
  }
  return translator.raiseWithArguments(PyExc_KeyError, {key});
}

bool assignSubscript(Translator& translator, const Value& self, const Value& key,
                     const Value& value) {
  DictVariable* dict = dictOf(self);
  if (value) return dict->set(translator, key, value);
  if (dict->remove(translator, key)) return true;
  if (!translator.exceptionPending()) translator.raiseWithArguments(PyExc_KeyError, {key});
  return false;
}

Value length(Translator& translator, const Value& self) {
  return Value::integer(static_cast<int64_t>(dictOf(self)->length(translator)));
}

Value contains(Translator& translator, const Value& self, const Value& key) {
  bool found = dictOf(self)->has(translator, key);
  return translator.exceptionPending() ? Value() : Value::boolean(found);
}

Value iterate(Translator& translator, const Value& self) {
  return makeDictIterator(translator, dictOf(self), DictViewKind::Keys, /*reversed=*/false);
}

// dict_equal: the same keys, and equal values. OrderedDicts compare their order, too.
Value equal(Translator& translator, DictVariable* a, DictVariable* b) {
  if (a->size(translator) != b->size(translator)) return Value::boolean(false);
  bool ordered = a->isOrdered() && b->isOrdered();
  int32_t position = 0, otherPosition = 0;
  while (const OrderedValueMap::Entry* entry = a->next(translator, position)) {
    // Copies: comparing may change the dicts.
    Value key = entry->key, value = entry->value;
    if (ordered) {
      const OrderedValueMap::Entry* other = b->next(translator, otherPosition);
      if (!other) return Value::boolean(false);
      int same = areEqual(translator, key, other->key);
      if (same <= 0) return same < 0 ? Value() : Value::boolean(false);
    }
    Value other = b->get(translator, key);
    if (!other) return translator.exceptionPending() ? Value() : Value::boolean(false);
    int same = areEqual(translator, value, other);
    if (same <= 0) return same < 0 ? Value() : Value::boolean(false);
  }
  return Value::boolean(true);
}

Value compare(Translator& translator, const Value& left, const Value& right, int op) {
  DictVariable* a = dictOf(left);
  DictVariable* b = partOf<DictVariable>(right);
  if ((op != Py_EQ && op != Py_NE) || !b) return Value::constant(Py_NotImplemented);
  Value result = a == b ? Value::boolean(true) : equal(translator, a, b);
  if (!result || op == Py_EQ) return result;
  return Value::boolean(result.is(Py_False));
}

bool update(Translator& translator, DictVariable* dict, const Value& other) {
  return dict->isOrdered() ? updateOrderedDict(translator, dict, other)
                           : updateDict(translator, dict, other);
}

// dict | other and dict |= other. The result of `|` is a dict of the more special type.
Value merge(Translator& translator, NumberSlot slot, const Value& left, const Value& right) {
  auto* a = trackerOf<DictVariable>(left);
  if (slot == nb_inplace_or) return update(translator, a, right) ? left : Value();
  DictVariable* b = partOf<DictVariable>(right);
  // The left one may be of a subclass whose own method does not know the right one.
  bool isOfSubclass = !a && partOf<DictVariable>(left);
  if (!(a || isOfSubclass) || !b) return Value::constant(Py_NotImplemented);
  DictVariable* result;
  if (!(a && isSpecialDict(a)) && isSpecialDict(b) && trackerOf<DictVariable>(right)) {
    result = emptyDictLike(translator, b);
    if (!update(translator, result, left)) return Value();
  } else if (isOfSubclass) {
    result = translator.make<DictVariable>();
    if (!update(translator, result, left)) return Value();
  } else {
    result = copyDict(translator, a);
  }
  return result && update(translator, result, right) ? Value(result) : Value();
}

// {k: v, …}
Value itemsText(Translator& translator, DictVariable* dict) {
  Ref<> text = checked(PyUnicode_FromString("{"));
  const char* separator = "";
  int32_t position = 0;
  while (const OrderedValueMap::Entry* entry = dict->next(translator, position)) {
    Value value = entry->value;
    Value keyText = toRepr(translator, entry->key);
    Value valueText = keyText ? toRepr(translator, std::move(value)) : Value();
    if (!valueText) return valueText;
    text = checked(PyUnicode_FromFormat("%U%s%U: %U", text.get(), separator, keyText.object(),
                                        valueText.object()));
    separator = ", ";
  }
  return translator.fromPython(PyUnicode_FromFormat("%U}", text.get()));
}

// OrderedDict([(k, v), …])
Value pairsText(Translator& translator, DictVariable* dict) {
  if (dict->size(translator) == 0) return Value::string("OrderedDict()");
  ValueVector keys, values, pairs;
  copyItems(translator, dict, keys, values);
  for (size_t i = 0; i < keys.size(); ++i) {
    pairs.push_back(makeTuple(translator, {keys[i], values[i]}));
  }
  Value text = toRepr(translator, translator.make<ListVariable>(std::move(pairs)));
  if (!text) return text;
  return translator.fromPython(PyUnicode_FromFormat("OrderedDict(%U)", text.object()));
}

Value repr(Translator& translator, const Value& self) {
  DictVariable* dict = dictOf(self);
  bool ordered = dict->isOrdered();
  bool isPlain = cpython::staticBase(dict->type()) == &PyDict_Type;
  if (!isPlain && (dict->instance || !ordered)) {
    throw GraphBreak(GraphBreakKind::TextOfDictSubclass, describe(self));
  }
  ReprRecursion recursion(self);
  if (recursion.entered()) return Value::string(ordered ? "..." : "{...}");
  return ordered ? pairsText(translator, dict) : itemsText(translator, dict);
}

Value getAttribute(Translator& translator, const Value& self, PyObject* name) {
  DictVariable* dict = dictOf(self);
  if (dict->type() == defaultDictType() &&
      PyUnicode_CompareWithASCIIString(name, "default_factory") == 0) {
    return defaultFactoryOf(translator, dict);
  }
  return genericGetAttribute(translator, self, name);
}

// Only an OrderedDict has one; of the part of an instance, the instance has it.
DictVariable* instanceDict(Translator& translator, const Value& self) {
  DictVariable* dict = dictOf(self);
  if (dict->type() != &PyODict_Type || dict->instance) return nullptr;
  return instanceDictOf(translator, dict, dict->attributes);
}

TypeSlots makeDictSlots() {
  TypeSlots slots;
  slots.nb[nb_or] = merge;
  slots.nb[nb_inplace_or] = merge;
  slots.mp_length = length;
  slots.mp_subscript = subscript;
  slots.mp_ass_subscript = assignSubscript;
  slots.sq_contains = contains;
  slots.tp_iter = iterate;
  slots.tp_richcompare = compare;
  slots.tp_getattro = getAttribute;
  slots.instanceDict = instanceDict;
  slots.tp_repr = repr;
  return slots;
}

}  // namespace

const TypeSlots kDictSlots = makeDictSlots();

}  // namespace armature
