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

// Sets and dicts give operations their whole table. All other iterables are asked for one item
// after the other, as the operation goes on.
bool isReadAtOnce(const Value& operand) {
  auto* dict = trackerOf<DictVariable>(operand);
  return isAnySet(operand) || (dict && dict->type() == &PyDict_Type);
}

// The set as it is at this moment.
SetOperand operandOf(Translator& translator, SetVariable* set) {
  SetOperand operand;
  if (set->inOrder(translator, operand.items)) {
    operand.real = set->real(translator);
  } else {
    operand.items = itemsOf(translator, set);
  }
  if (set->isOfUnknownTable() && operand.items.size() > 1) operand.ofUnknownTable = set;
  return operand;
}

// What an operation makes of such operands is in an order that nobody knows.
void requireKnownTable(const SetOperand& operand) {
  if (!operand.ofUnknownTable) return;
  throw GraphBreak(GraphBreakKind::SetOrder, describe(Value(operand.ofUnknownTable)));
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

// The operand as the one argument of a method that changes a set; null where that asks the set's
// items, which the replay must not do again.
Ref<> pack(const SetOperand& operand, const SetVariable* set) {
  return operand.real && !set->asksItems() ? checked(PyTuple_Pack(1, operand.real.get())) : nullptr;
}

SetVariable* newSet(Translator& translator, PyTypeObject* type) {
  return translator.make<SetVariable>(type);
}

SetVariable* copyOf(Translator& translator, PyTypeObject* type, const SetOperand& operand) {
  requireKnownTable(operand);
  SetVariable* set = newSet(translator, type);
  bool ok = true;
  set->makeBy(nullptr, operand.real, nullptr, [&] { ok = addAll(translator, set, operand.items); });
  return ok ? set : nullptr;
}

// Items of an iterable, each when it is given. False with the exception pending.
bool visitKeys(Translator& translator, const Value& iterable,
               llvm::function_ref<bool(const Value&)> visit) {
  return visitItems(translator, iterable, [&](Value item) {
    realizeUnlessAddress(translator, item);
    return visit(item);
  });
}

bool symmetricUpdate(Translator& translator, SetVariable* set, const SetOperand& operand,
                     llvm::ArrayRef<Value> distinct) {
  requireKnownTable(operand);
  set->changeBy(translator, "symmetric_difference_update", pack(operand, set), [&] {
    for (const Value& item : distinct) {
      bool removed = set->remove(translator, item);
      if (!removed && !translator.exceptionPending()) set->add(translator, item);
      if (translator.exceptionPending()) return;
    }
  });
  return !translator.exceptionPending();
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
    result = operandOf(translator, set);
    return true;
  }
  if (PyObject* object = iterable.objectOrNull(); object && PyFrozenSet_CheckExact(object)) {
    result.real = Ref<>::create(object);
    for (cpython::SetEntry entry; cpython::nextEntry(object, entry);) {
      result.items.push_back(Value::constant(entry.element));
    }
    return true;
  }
  if (isReadAtOnce(iterable)) {
    requireKind<DictVariable>(iterable)->forEach(
        translator,
        [&](const OrderedValueMap::Entry& entry) { result.items.push_back(entry.key); });
    result.real = realDict(translator, result.items);
    return true;
  }
  if (!iterateInto(translator, iterable, result.items)) return false;
  for (Value& item : result.items) realizeUnlessAddress(translator, item);
  result.real = realTuple(translator, result.items);
  return true;
}

ValueVector itemsOf(Translator& translator, SetVariable* set) {
  ValueVector items;
  set->forEach(translator, [&](const Value& item) { items.push_back(item); });
  return items;
}

SetVariable* toSet(Translator& translator, const Value& iterable) {
  Value realized = translator.realized(iterable);
  if (auto* set = partOf<SetVariable>(realized)) return set;
  return copySet(translator, &PySet_Type, realized);
}

SetVariable* copySet(Translator& translator, PyTypeObject* type, const Value& iterable) {
  Value realized = translator.realized(iterable);
  if (isReadAtOnce(realized)) {
    SetOperand operand;
    return readSetOperand(translator, realized, operand) ? copyOf(translator, type, operand)
                                                         : nullptr;
  }
  SetVariable* set = newSet(translator, type);
  return updateSet(translator, set, realized) ? set : nullptr;
}

bool updateSet(Translator& translator, SetVariable* set, const Value& operand) {
  Value realized = translator.realized(operand);
  if (!isReadAtOnce(realized)) {
    return visitKeys(translator, realized,
                     [&](const Value& item) { return set->add(translator, item); });
  }
  SetOperand read;
  if (!readSetOperand(translator, realized, read)) return false;
  requireKnownTable(read);
  bool ok = true;
  set->changeBy(translator, "update", pack(read, set),
                [&] { ok = addAll(translator, set, read.items); });
  return ok;
}

bool subtractFromSet(Translator& translator, SetVariable* set, const Value& operand) {
  Value realized = translator.realized(operand);
  auto remove = [&](const Value& item) {
    set->remove(translator, item);
    return !translator.exceptionPending();
  };
  if (partOf<SetVariable>(realized) == set) {
    set->clear(translator);
    return true;
  }
  if (!isReadAtOnce(realized)) {
    if (!visitKeys(translator, realized, remove)) return false;
    // At its end, the operation makes the table anew if too many items have left their marks in it.
    Ref<> none = checked(PyTuple_New(0));
    set->changeBy(translator, "difference_update", checked(PyTuple_Pack(1, none.get())), [] {});
    return true;
  }
  SetOperand read;
  if (!readSetOperand(translator, realized, read)) return false;
  set->changeBy(translator, "difference_update", pack(read, set), [&] {
    for (const Value& item : read.items) {
      if (!remove(item)) return;
    }
  });
  return !translator.exceptionPending();
}

bool intersectSet(Translator& translator, SetVariable* set, llvm::ArrayRef<Value> operands) {
  // The set is touched when all is known: an exception leaves it as it is.
  SetVariable* common = set;
  for (const Value& operand : operands) {
    common = intersection(translator, &PySet_Type, common, operand);
    if (!common) return false;
  }
  if (operands.empty()) {
    set->changeBy(translator, "intersection_update", checked(PyTuple_New(0)), [] {});
    return true;
  }
  // It gets the table of the result, which is that of its items added one by one.
  ValueVector items = itemsOf(translator, common);
  set->clear(translator);
  return addAll(translator, set, items);
}

bool symmetricDifferenceUpdate(Translator& translator, SetVariable* set, const Value& operand) {
  Value realized = translator.realized(operand);
  // An iterable with an item twice must not add and remove it again.
  SetVariable* distinct =
      isReadAtOnce(realized) ? nullptr : copySet(translator, &PySet_Type, realized);
  if (translator.exceptionPending()) return false;
  SetOperand read;
  if (distinct) {
    read = operandOf(translator, distinct);
  } else if (!readSetOperand(translator, realized, read)) {
    return false;
  }
  return symmetricUpdate(translator, set, read, read.items);
}

SetVariable* intersection(Translator& translator, PyTypeObject* type, SetVariable* self,
                          const Value& operand) {
  Value realized = translator.realized(operand);
  SetVariable* result = newSet(translator, type);
  if (!isAnySet(realized)) {
    // Nothing more is asked for once all items are found.
    size_t most = self->size(translator);
    bool ok = visitKeys(translator, realized, [&](const Value& item) {
      bool found = self->contains(translator, item);
      if (translator.exceptionPending() || (found && !result->add(translator, item))) return false;
      return !found || result->size(translator) < most;
    });
    return ok ? result : nullptr;
  }
  SetOperand read;
  if (!readSetOperand(translator, realized, read)) return nullptr;
  // CPython walks over the smaller set, and takes its items where equal ones differ.
  if (read.items.size() > self->size(translator)) {
    SetVariable* other = toSet(translator, realized);
    ValueVector own = operandOf(translator, self).items, items;
    if (!other || !select(translator, other, own, true, items)) return nullptr;
    return addAll(translator, result, items) ? result : nullptr;
  }
  ValueVector items;
  bool ok = select(translator, self, read.items, true, items) && addAll(translator, result, items);
  return ok ? result : nullptr;
}

SetVariable* difference(Translator& translator, PyTypeObject* type, SetVariable* self,
                        const Value& operand) {
  Value realized = translator.realized(operand);
  SetOperand own = operandOf(translator, self), read;
  if (!isReadAtOnce(realized)) {
    SetVariable* result = copyOf(translator, type, own);
    return result && subtractFromSet(translator, result, realized) ? result : nullptr;
  }
  if (!readSetOperand(translator, realized, read)) return nullptr;
  // Of a much larger set, CPython makes a copy first.
  if (own.items.size() >> 2 > read.items.size()) requireKnownTable(own);
  SetVariable* other = toSet(translator, realized);
  ValueVector items;
  if (!other || !select(translator, other, own.items, false, items)) return nullptr;
  SetVariable* result = newSet(translator, type);
  result->makeBy("difference", own.real, pack(read, self),
                 [&] { addAll(translator, result, items); });
  return result;
}

SetVariable* symmetricDifference(Translator& translator, PyTypeObject* type, SetVariable* self,
                                 const Value& operand) {
  // CPython begins with the operand's items.
  SetVariable* result = copySet(translator, type, operand);
  if (!result) return nullptr;
  SetOperand own = operandOf(translator, self);
  return symmetricUpdate(translator, result, own, own.items) ? result : nullptr;
}

Value keyInSet(Translator& translator, const Value& item) {
  if (!partOf<SetVariable>(item) || typeOf(item) == &PyFrozenSet_Type) return item;
  auto refuse = [&] { throw GraphBreak(GraphBreakKind::SetInSet, describe(item)); };
  auto* set = trackerOf<SetVariable>(item);
  if (!set) refuse();
  Ref<> key = checked(PySet_New(nullptr));
  set->forEach(translator, [&](const Value& each) {
    Ref<> data = keyData(translator, each);
    if (!data) refuse();
    checked(PySet_Add(key.get(), data.get()));
  });
  return Value::steal(checked(PyFrozenSet_New(key.get())).release());
}

int containsAll(Translator& translator, SetVariable* set, const Value& iterable) {
  int result = 1;
  if (auto* other = partOf<SetVariable>(translator.realized(iterable))) {
    for (const Value& item : itemsOf(translator, other)) {
      bool isThere = set->contains(translator, item);
      if (translator.exceptionPending() || !isThere) return translator.exceptionPending() ? -1 : 0;
    }
    return 1;
  }
  bool ok = visitKeys(translator, iterable, [&](const Value& item) {
    result = set->contains(translator, item);
    return result == 1 && !translator.exceptionPending();
  });
  return ok ? result : -1;
}

Value setResult(Translator& translator, SetVariable* set) {
  if (set->type() != &PyFrozenSet_Type) return set;
  Ref<> real = set->real(translator);
  if (!real) return set;
  return Value::steal(
      checked(cpython::copyTable(&PyFrozenSet_Type, real.get()).release()).release());
}

}  // namespace armature
