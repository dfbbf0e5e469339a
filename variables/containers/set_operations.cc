#include "variables/containers/set_operations.h"

#include "core/checked.h"
#include "cpython/set_entries.h"
#include "variables/constants/constant.h"
#include "variables/objects/address.h"
#include "variables/objects/user_defined.h"
#include "variables/protocol/object_protocol.h"

namespace armature {

namespace {

Ref<> realTuple(Translator& translator, llvm::ArrayRef<Value> items) {
  Ref<> tuple = checked(PyTuple_New(static_cast<Py_ssize_t>(items.size())));
  for (size_t i = 0; i < items.size(); ++i) {
    Ref<> data = keyData(translator, items[i]);
    if (!data) return nullptr;
    PyTuple_SET_ITEM(tuple.get(), i, data.release());
  }
  return tuple;
}

// Sets read dicts in their own way: hash table to hash table.
Ref<> realDict(Translator& translator, llvm::ArrayRef<Value> keys) {
  Ref<> dict = checked(PyDict_New());
  for (const Value& key : keys) {
    Ref<> data = keyData(translator, key);
    if (!data) return nullptr;
    checked(PyDict_SetItem(dict.get(), data.get(), Py_None));
  }
  return dict;
}

// The real counterpart of a set at this moment; null if its order is not known.
SetOperand operandOf(SetVariable* set) {
  SetOperand operand;
  operand.isSet = true;
  operand.real = set->real();
  if (operand.real) {
    for (cpython::SetEntry entry; cpython::nextEntry(operand.real, entry);) {
      operand.items.push_back(set->itemLike(entry.element));
    }
  } else {
    set->forEach([&](const Value& item) { operand.items.push_back(item); });
  }
  return operand;
}

bool addAll(Translator& translator, SetVariable* set, llvm::ArrayRef<Value> items) {
  for (const Value& item : items) {
    if (!set->add(translator, item)) return false;
  }
  return true;
}

// Which of `items` are in the set, or are not.
bool select(Translator& translator, SetVariable* set, llvm::ArrayRef<Value> items, bool present,
            ValueVector& selected) {
  for (const Value& item : items) {
    bool found = set->contains(translator, item);
    if (translator.exceptionPending()) return false;
    if (found == present) selected.push_back(item);
  }
  return true;
}

// The operand as the one argument of a real set's method.
Ref<> pack(const SetOperand& operand) {
  return operand.real ? checked(PyTuple_Pack(1, operand.real.get())) : nullptr;
}

SetVariable* newSet(Translator& translator, PyTypeObject* type) {
  return translator.make<SetVariable>(type);
}

}  // namespace

bool isFrozenSet(const Value& value) { return PyType_IsSubtype(typeOf(value), &PyFrozenSet_Type); }

PyTypeObject* resultType(const Value& value) {
  return isFrozenSet(value) ? &PyFrozenSet_Type : &PySet_Type;
}

bool isAnySet(const Value& value) {
  PyObject* object = value.objectOrNull();
  return object ? PyAnySet_CheckExact(object) : partOf<SetVariable>(value) != nullptr;
}

bool readSetOperand(Translator& translator, Value iterable, SetOperand& result) {
  translator.realize(iterable);
  if (auto* set = partOf<SetVariable>(iterable)) {
    result = operandOf(set);
    return true;
  }
  if (PyObject* object = iterable.objectOrNull(); object && PyFrozenSet_CheckExact(object)) {
    result.isSet = true;
    result.real = Ref<>::create(object);
    for (cpython::SetEntry entry; cpython::nextEntry(object, entry);) {
      result.items.push_back(Value::constant(entry.element));
    }
    return true;
  }
  if (auto* dict = trackerOf<DictVariable>(iterable); dict && dict->type() == &PyDict_Type) {
    dict->forEach(translator,
                  [&](const OrderedValueMap::Entry& entry) { result.items.push_back(entry.key); });
    result.real = realDict(translator, result.items);
    return true;
  }
  if (!iterateInto(translator, iterable, result.items)) return false;
  for (Value& item : result.items) realizeUnlessAddress(translator, item);
  result.real = realTuple(translator, result.items);
  return true;
}

SetVariable* toSet(Translator& translator, const Value& iterable) {
  Value realized = translator.realized(iterable);
  if (auto* set = partOf<SetVariable>(realized)) return set;
  SetOperand operand;
  if (!readSetOperand(translator, realized, operand)) return nullptr;
  return copySet(translator, &PySet_Type, operand);
}

SetVariable* copySet(Translator& translator, PyTypeObject* type, const SetOperand& operand) {
  SetVariable* set = newSet(translator, type);
  bool ok = true;
  set->makeBy(nullptr, operand.real, nullptr, [&] { ok = addAll(translator, set, operand.items); });
  return ok ? set : nullptr;
}

bool updateSet(Translator& translator, SetVariable* set, const SetOperand& operand) {
  bool ok = true;
  set->changeBy(translator, "update", pack(operand),
                [&] { ok = addAll(translator, set, operand.items); });
  return ok;
}

bool subtractFromSet(Translator& translator, SetVariable* set, const SetOperand& operand) {
  set->changeBy(translator, "difference_update", pack(operand), [&] {
    for (const Value& item : operand.items) {
      set->remove(translator, item);
      if (translator.exceptionPending()) return;
    }
  });
  return !translator.exceptionPending();
}

bool intersectSet(Translator& translator, SetVariable* set, llvm::ArrayRef<SetOperand> operands) {
  // The set is touched when all is known: an exception leaves it as it is.
  SetVariable* common = set;
  bool allReal = true;
  Ref<> reals = checked(PyTuple_New(static_cast<Py_ssize_t>(operands.size())));
  for (size_t i = 0; i < operands.size(); ++i) {
    common = intersection(translator, &PySet_Type, common, operands[i]);
    if (!common) return false;
    allReal = allReal && operands[i].real;
    if (allReal) PyTuple_SET_ITEM(reals.get(), i, Ref<>(operands[i].real).release());
  }
  ValueVector items;
  common->forEach([&](const Value& item) { items.push_back(item); });
  set->changeBy(translator, "intersection_update", allReal ? std::move(reals) : nullptr, [&] {
    set->clear(translator);
    addAll(translator, set, items);
  });
  return true;
}

bool symmetricDifferenceUpdate(Translator& translator, SetVariable* set, SetOperand operand) {
  // An iterable with an item twice must not add and remove it again.
  SetVariable* distinct = copySet(translator, &PySet_Type, operand);
  if (!distinct) return false;
  set->changeBy(translator, "symmetric_difference_update", pack(operand), [&] {
    distinct->forEach([&](const Value& item) {
      if (translator.exceptionPending()) return;
      bool removed = set->remove(translator, item);
      if (!removed && !translator.exceptionPending()) set->add(translator, item);
    });
  });
  return !translator.exceptionPending();
}

SetVariable* intersection(Translator& translator, PyTypeObject* type, SetVariable* self,
                          const SetOperand& operand) {
  // CPython walks over the smaller set, and takes its items where equal ones differ.
  SetOperand own = operandOf(self);
  ValueVector items;
  if (operand.isSet && operand.items.size() > own.items.size()) {
    SetVariable* other = copySet(translator, &PySet_Type, operand);
    if (!select(translator, other, own.items, true, items)) return nullptr;
  } else if (!select(translator, self, operand.items, true, items)) {
    return nullptr;
  }
  SetVariable* result = newSet(translator, type);
  result->makeBy("intersection", own.real, pack(operand),
                 [&] { addAll(translator, result, items); });
  return result;
}

SetVariable* difference(Translator& translator, PyTypeObject* type, SetVariable* self,
                        const SetOperand& operand) {
  SetOperand own = operandOf(self);
  SetVariable* other = copySet(translator, &PySet_Type, operand);
  ValueVector items;
  if (!other || !select(translator, other, own.items, false, items)) return nullptr;
  SetVariable* result = newSet(translator, type);
  result->makeBy("difference", own.real, pack(operand), [&] { addAll(translator, result, items); });
  return result;
}

SetVariable* symmetricDifference(Translator& translator, PyTypeObject* type, SetVariable* self,
                                 const SetOperand& operand) {
  SetOperand own = operandOf(self);
  SetVariable* other = copySet(translator, &PySet_Type, operand);
  ValueVector items, rest;
  if (!other || !select(translator, self, operandOf(other).items, false, items) ||
      !select(translator, other, own.items, false, rest)) {
    return nullptr;
  }
  items.append(rest.begin(), rest.end());
  SetVariable* result = newSet(translator, type);
  result->makeBy("symmetric_difference", own.real, pack(operand),
                 [&] { addAll(translator, result, items); });
  return result;
}

int containsAll(Translator& translator, SetVariable* set, const SetOperand& operand) {
  for (const Value& item : operand.items) {
    bool found = set->contains(translator, item);
    if (translator.exceptionPending()) return -1;
    if (!found) return 0;
  }
  return 1;
}

Value setResult(SetVariable* set) {
  if (set->type() != &PyFrozenSet_Type) return set;
  Ref<> real = set->real();
  return real ? Value::steal(checked(PyFrozenSet_New(real.get())).release()) : Value(set);
}

}  // namespace armature
