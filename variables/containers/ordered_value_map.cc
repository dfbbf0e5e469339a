#include "variables/containers/ordered_value_map.h"

#include <llvm/ADT/STLExtras.h>

#include <algorithm>
#include <bit>

#include "core/checked.h"
#include "core/pending_python_exception.h"
#include "core/tuple_hash.h"
#include "cpython/special_slots.h"
#include "cpython/type_lookup.h"
#include "guards/key.h"
#include "variables/constants/sym_node_variable.h"
#include "variables/containers/sequence.h"
#include "variables/lazy.h"
#include "variables/objects/address.h"
#include "variables/objects/user_defined.h"
#include "variables/objects/weak_reference.h"
#include "variables/variable_tracker.h"

namespace armature {

namespace {

constexpr int32_t kEmpty = -1;
constexpr int32_t kUnlinked = -2;

// Does what the variable stands for hash and compare by identity?
bool hashesByIdentity(const VariableTracker* tracker) {
  if (const auto* object = llvm::dyn_cast<UserObjectVariable>(tracker)) {
    return isObjectByIdentity(object);
  }
  switch (tracker->kind()) {
    case VariableKind::UserFunction:
    case VariableKind::UserClass:
    case VariableKind::Exception:
    case VariableKind::Opaque:
    case VariableKind::Tensor:
      return isKeyByIdentity(tracker->type());
    default:
      return false;
  }
}

// The items of a traced tuple whose type hashes and compares as tuple does; null for anything else.
const ValueVector* tupleItems(const Value& value) {
  auto* sequence = trackerOf<SequenceVariable>(value);
  bool isTuple = sequence && !llvm::isa<MutableSequenceVariable>(sequence);
  return isTuple && isKeyByItems(sequence->type()) ? &sequence->items() : nullptr;
}

// Its size, or -1 for what is no tuple, real or traced.
Py_ssize_t tupleSize(const Value& value) {
  if (const ValueVector* items = tupleItems(value)) return static_cast<Py_ssize_t>(items->size());
  PyObject* object = value.objectOrNull();
  return object && isKeyByItems(Py_TYPE(object)) ? PyTuple_GET_SIZE(object) : -1;
}

Value tupleItem(const Value& value, Py_ssize_t index) {
  if (const ValueVector* items = tupleItems(value)) {
    return realizedItem((*items)[static_cast<size_t>(index)]);
  }
  return Value::constant(PyTuple_GET_ITEM(value.object(), index));
}

// Is the address, pinned, of an existing object that number?
bool isNumber(const AddressVariable* address, PyObject* constant) {
  PyObject* object = address->existingObject();
  if (!object) return false;
  int equal = PyObject_RichCompareBool(checked(PyLong_FromVoidPtr(object)).get(), constant, Py_EQ);
  if (equal < 0) clearException();
  return equal > 0;
}

}  // namespace

bool mayBeNumber(const Value& key) {
  PyObject* object = key.objectOrNull();
  return object ? PyNumber_Check(object) : isKeyByMethods(key);
}

Value realizedItem(const Value& item) {
  const auto* lazy = trackerOf<LazyVariable>(item);
  const Value& realized = lazy ? lazy->realized : item;
  const auto* number = trackerOf<SymNodeVariable>(realized);
  return number ? number->specialized : realized;
}

bool isObjectByIdentity(const UserObjectVariable* object) {
  PyTypeObject* type = object->type();
  return isKeyByIdentity(type) && (object->existing() || !isKeyByName(type));
}

bool isKeyByMethods(const Value& key) {
  if (const ValueVector* items = tupleItems(key)) {
    return llvm::any_of(*items,
                        [](const Value& item) { return isKeyByMethods(realizedItem(item)); });
  }
  auto* object = trackerOf<UserObjectVariable>(key);
  return object && !isObjectByIdentity(object);
}

bool goesByIdentity(const Value& key) {
  if (key.isConstant()) return false;
  if (const ValueVector* items = tupleItems(key)) {
    return llvm::any_of(*items,
                        [](const Value& item) { return goesByIdentity(realizedItem(item)); });
  }
  return !isKeyByMethods(key);
}

KeyHash hashKey(const Value& key) {
  if (PyObject* object = key.objectOrNull()) {
    // Of the C functions, types and descriptors that a trace holds, no hash is the program's.
    Py_hash_t hash = PyObject_Hash(object);
    if (hash == -1) {
      clearException();
      return {KeyHash::Status::Unhashable, 0};
    }
    return {KeyHash::Status::Ok, hash};
  }
  if (const ValueVector* items = tupleItems(key)) {
    TupleHash hash;
    for (const Value& item : *items) {
      KeyHash element = hashKey(realizedItem(item));
      if (element.status != KeyHash::Status::Ok) return element;
      hash.add(element.hash);
    }
    return {KeyHash::Status::Ok, hash.finish()};
  }
  const VariableTracker* tracker = key.tracker();
  if (const auto* address = trackerOf<AddressVariable>(key)) {
    if (address->isOfData()) return {KeyHash::Status::Unmodelled, 0};
    // Of an existing object, the hash of the number: an address is below 2**61 - 1.
    auto number = reinterpret_cast<uintptr_t>(address->identity());
    return {KeyHash::Status::Ok,
            static_cast<Py_hash_t>(address->existingObject() ? number : number >> 4)};
  }
  if (PyObject* referent = referentOfMade(key)) {
    std::optional<Py_hash_t> hash = hashWithoutCode(referent);
    bool goesByIdentity = PyType_Check(referent) || isKeyByIdentity(Py_TYPE(referent));
    if (!hash || !goesByIdentity) return {KeyHash::Status::Unmodelled, 0};
    return {KeyHash::Status::Ok, *hash};
  }
  if (hashesByIdentity(tracker)) {
    return {KeyHash::Status::Ok, static_cast<Py_hash_t>(key.word() >> 4)};
  }
  if (const auto* object = llvm::dyn_cast<UserObjectVariable>(tracker);
      object && object->isHashed) {
    return {KeyHash::Status::Ok, object->keyHash};
  }
  // A class of the program may be given a __hash__.
  bool unhashable = cpython::isImmutable(tracker->type()) &&
                    !cpython::fillsSlot(tracker->type(), cpython::SpecialSlot::Hash);
  return {unhashable ? KeyHash::Status::Unhashable : KeyHash::Status::Unmodelled, 0};
}

bool equalKeys(const Value& left, const Value& right) {
  if (left.sameAs(right)) return true;
  if (left.isConstant() && right.isConstant()) {
    int equal = PyObject_RichCompareBool(left.object(), right.object(), Py_EQ);
    if (equal < 0) clearException();
    return equal > 0;
  }
  const auto* leftAddress = trackerOf<AddressVariable>(left);
  const auto* rightAddress = trackerOf<AddressVariable>(right);
  if (leftAddress && rightAddress) return leftAddress->identity() == rightAddress->identity();
  if (leftAddress && right.isConstant()) return isNumber(leftAddress, right.object());
  if (rightAddress && left.isConstant()) return isNumber(rightAddress, left.object());
  if (PyObject* referent = referentOfMade(left)) return referent == referentOfMade(right);
  Py_ssize_t size = tupleSize(left);
  if (size < 0 || size != tupleSize(right)) return false;
  for (Py_ssize_t i = 0; i < size; ++i) {
    if (!equalKeys(tupleItem(left, i), tupleItem(right, i))) return false;
  }
  return true;
}

int32_t OrderedValueMap::findEntry(Py_hash_t hash,
                                   llvm::function_ref<bool(int32_t index)> isIt) const {
  auto matches = [&](int32_t index) {
    return entries_[index].linked && entries_[index].hash == hash && isIt(index);
  };
  if (table_.empty()) {
    for (int32_t index = 0; index < entryCount(); ++index) {
      if (matches(index)) return index;
    }
    return kAbsent;
  }
  size_t mask = table_.size() - 1;
  for (size_t slot = static_cast<size_t>(hash) & mask;; slot = (slot + 1) & mask) {
    int32_t index = table_[slot];
    if (index == kEmpty) return kAbsent;
    if (index != kUnlinked && matches(index)) return index;
  }
}

void OrderedValueMap::insertIndex(int32_t index) {
  if (static_cast<size_t>(used_ + 1) * 3 > table_.size() * 2) return grow();
  size_t mask = table_.size() - 1;
  size_t slot = static_cast<size_t>(entries_[index].hash) & mask;
  // Of unlinked entries the slots are used again: a key that goes to the end time and again, or all
  // keys of a run of numbers one after the other, would else walk over more and more of them.
  while (table_[slot] >= 0) slot = (slot + 1) & mask;
  used_ += table_[slot] == kEmpty;
  table_[slot] = index;
}

void OrderedValueMap::grow() {
  table_.assign(std::bit_ceil(entries_.size() * 2), kEmpty);
  used_ = 0;
  for (int32_t index = 0; index < entryCount(); ++index) {
    if (entries_[index].linked) insertIndex(index);
  }
}

int32_t OrderedValueMap::append(Entry entry) {
  if (entries_.empty()) entries_.reserve(kMostWithoutTable);
  hasNumbers_ = hasNumbers_ || mayBeNumber(entry.key);
  if (!entry.key.isConstant()) {
    hasAddresses_ = hasAddresses_ || existingAddress(entry.key);
    hasKeysByMethods_ = hasKeysByMethods_ || isKeyByMethods(entry.key);
    hasKeysByIdentity_ = hasKeysByIdentity_ || goesByIdentity(entry.key);
  }
  entries_.push_back(std::move(entry));
  int32_t index = entryCount() - 1;
  if (!table_.empty() || entries_.size() > kMostWithoutTable) insertIndex(index);
  return index;
}

void OrderedValueMap::unlink(int32_t index) {
  entries_[index].linked = false;
  if (table_.empty()) return;
  size_t mask = table_.size() - 1;
  for (size_t slot = static_cast<size_t>(entries_[index].hash) & mask;; slot = (slot + 1) & mask) {
    if (table_[slot] == kEmpty) return;
    if (table_[slot] == index) {
      table_[slot] = kUnlinked;
      return;
    }
  }
}

void OrderedValueMap::relink(int32_t index) {
  entries_[index].linked = true;
  if (!table_.empty()) insertIndex(index);
}

void OrderedValueMap::popLast() {
  unlink(entryCount() - 1);
  entries_.pop_back();
}

ExistedEntries::ExistedEntries(const OrderedValueMap& map) : map_(map) {
  for (int32_t index = 0; index < map.entryCount(); ++index) {
    if (map[index].existed) byHash_.emplace(map[index].hash, index);
  }
}

int32_t ExistedEntries::find(const Value& key, Py_hash_t hash) const {
  auto [first, end] = byHash_.equal_range(hash);
  auto found = std::find_if(
      first, end, [&](const auto& each) { return equalKeys(map_[each.second].key, key); });
  return found == end ? OrderedValueMap::kAbsent : found->second;
}

}  // namespace armature
