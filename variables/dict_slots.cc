// The slots of dict, OrderedDict and defaultdict.
#include "variables/builtin_handlers.h"
#include "variables/dict_methods.h"
#include "variables/equality.h"
#include "variables/iterators.h"
#include "variables/kind_slots.h"
#include "variables/object_protocol.h"
#include "variables/repr_recursion.h"

namespace armature {

namespace {

DictVariable* dictOf(const Value& value) { return llvm::cast<DictVariable>(value.tracker()); }

bool isExactDict(const DictVariable* dict) { return dict->type() == &PyDict_Type; }

// Subclasses may answer missing keys, iterate in their own way and print themselves.
[[noreturn]] void unmodelledSubclass(const Value& self, const char* operation) {
  throw GraphBreak("Operation on a dict subclass", std::string(operation) + ": " + describe(self),
                   "This operation is modelled for dict and OrderedDict.");
}

bool isModelledType(const DictVariable* dict) {
  return isExactDict(dict) || dict->type() == &PyODict_Type;
}

Value subscript(Translator& translator, const Value& self, const Value& key) {
  DictVariable* dict = dictOf(self);
  if (Value value = dict->get(translator, key)) return value;
  if (translator.exceptionPending()) return Value();
  static PyObject* const missing = PyUnicode_InternFromString("__missing__");
  if (!isModelledType(dict) && _PyType_Lookup(dict->type(), missing)) {
    unmodelledSubclass(self, "missing key");
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
  return Value::integer(static_cast<int64_t>(dictOf(self)->size(translator)));
}

Value contains(Translator& translator, const Value& self, const Value& key) {
  bool found = dictOf(self)->has(translator, key);
  return translator.exceptionPending() ? Value() : Value::boolean(found);
}

Value iterate(Translator& translator, const Value& self) {
  DictVariable* dict = dictOf(self);
  if (isExactDict(dict)) {
    return makeDictIterator(translator, dict, DictViewKind::Keys, /*reversed=*/false);
  }
  if (dict->type()->tp_iter != PyDict_Type.tp_iter && dict->type() != &PyODict_Type) {
    unmodelledSubclass(self, "iteration");
  }
  return makeDictIterator(translator, dict, DictViewKind::Keys, /*reversed=*/false);
}

// dict_equal: the same keys, and equal values. OrderedDicts compare their order, too.
Value equal(Translator& translator, DictVariable* a, DictVariable* b) {
  if (a->size(translator) != b->size(translator)) return Value::boolean(false);
  bool ordered = a->type() == &PyODict_Type && b->type() == &PyODict_Type;
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
  auto* b = trackerOf<DictVariable>(right);
  if ((op != Py_EQ && op != Py_NE) || !b) return Value::constant(Py_NotImplemented);
  for (DictVariable* dict : {a, b}) {
    if (!isModelledType(dict) && dict->type()->tp_richcompare != PyDict_Type.tp_richcompare) {
      unmodelledSubclass(dict, "comparison");
    }
  }
  Value result = a == b ? Value::boolean(true) : equal(translator, a, b);
  if (!result || op == Py_EQ) return result;
  return Value::boolean(result.is(Py_False));
}

// dict | other and dict |= other. The result of `|` is a copy of the left operand.
Value merge(Translator& translator, NumberSlot slot, const Value& left, const Value& right) {
  auto* a = trackerOf<DictVariable>(left);
  if (slot == nb_inplace_or) {
    return updateDict(translator, a, right) ? left : Value();
  }
  auto* b = trackerOf<DictVariable>(right);
  if (!a || !b) return Value::constant(Py_NotImplemented);
  DictVariable* result = copyDict(translator, a);
  return updateDict(translator, result, right) ? Value(result) : Value();
}

Value repr(Translator& translator, const Value& self) {
  DictVariable* dict = dictOf(self);
  if (!isExactDict(dict)) unmodelledSubclass(self, "repr");
  ReprRecursion recursion(self);
  if (recursion.entered()) return Value::string("{...}");
  Ref<> text = Ref<>::steal(PyUnicode_FromString("{"));
  const char* separator = "";
  int32_t position = 0;
  while (const OrderedValueMap::Entry* entry = dict->next(translator, position)) {
    Value value = entry->value;
    Value keyText = toRepr(translator, entry->key);
    Value valueText = keyText ? toRepr(translator, std::move(value)) : Value();
    if (!valueText) return valueText;
    text = Ref<>::steal(PyUnicode_FromFormat("%U%s%U: %U", text.get(), separator, keyText.object(),
                                             valueText.object()));
    separator = ", ";
  }
  return translator.fromPython(PyUnicode_FromFormat("%U}", text.get()));
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
  slots.tp_repr = repr;
  return slots;
}

}  // namespace

const TypeSlots kDictSlots = makeDictSlots();

}  // namespace armature
