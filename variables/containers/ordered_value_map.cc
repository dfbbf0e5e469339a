#include "variables/containers/ordered_value_map.h"

#include "variables/containers/sequence.h"
#include "variables/variable_tracker.h"

namespace armature {

namespace {

constexpr int32_t kEmpty = -1;
constexpr int32_t kUnlinked = -2;

// Builtin types whose hash and equality run no user code.
bool hashesAsData(PyObject* object) {
  PyTypeObject* type = Py_TYPE(object);
  return !(type->tp_flags & Py_TPFLAGS_HEAPTYPE) || type->tp_hash == PyBaseObject_Type.tp_hash;
}

// Kinds whose Python objects hash and compare by identity.
bool hashesByIdentity(const VariableTracker* tracker) {
  switch (tracker->kind()) {
    case VariableKind::UserFunction:
    case VariableKind::UserClass:
      return true;
    case VariableKind::UserObject:
    case VariableKind::Exception:
    case VariableKind::Opaque:
      return tracker->type()->tp_hash == PyBaseObject_Type.tp_hash &&
             tracker->type()->tp_richcompare == PyBaseObject_Type.tp_richcompare;
    case VariableKind::Tensor: {
      // torch.Tensor.__hash__ is id(self); NumPy arrays are unhashable.
      return static_cast<bool>(tracker->type()->tp_flags & Py_TPFLAGS_HEAPTYPE);
    }
    default:
      return false;
  }
}

const ValueVector* tupleItems(const Value& value) {
  auto* tuple = trackerOf<TupleVariable>(value);
  return tuple ? &tuple->items() : nullptr;
}

Py_hash_t mix(Py_hash_t hash, Py_hash_t element) {
  return static_cast<Py_hash_t>(static_cast<Py_uhash_t>(hash) * 1000003u ^
                                static_cast<Py_uhash_t>(element));
}

}  // namespace

KeyHash hashKey(const Value& key) {
  if (PyObject* object = key.objectOrNull()) {
    if (!hashesAsData(object)) return {KeyHash::Status::Unmodelled, 0};
    Py_hash_t hash = PyObject_Hash(object);
    if (hash == -1) {
      PyErr_Clear();
      return {KeyHash::Status::Unhashable, 0};
    }
    return {KeyHash::Status::Ok, hash};
  }
  if (const ValueVector* items = tupleItems(key)) {
    Py_hash_t hash = 0x345678;
    for (const Value& item : *items) {
      KeyHash element = hashKey(item);
      if (element.status != KeyHash::Status::Ok) return element;
      hash = mix(hash, element.hash);
    }
    return {KeyHash::Status::Ok, hash};
  }
  const VariableTracker* tracker = key.tracker();
  if (hashesByIdentity(tracker)) {
    return {KeyHash::Status::Ok, static_cast<Py_hash_t>(key.word() >> 4)};
  }
  bool unhashable = tracker->type()->tp_hash == PyObject_HashNotImplemented;
  return {unhashable ? KeyHash::Status::Unhashable : KeyHash::Status::Unmodelled, 0};
}

bool equalKeys(const Value& left, const Value& right) {
  if (left.sameAs(right)) return true;
  if (left.isConstant() && right.isConstant()) {
    int equal = PyObject_RichCompareBool(left.object(), right.object(), Py_EQ);
    if (equal < 0) PyErr_Clear();
    return equal > 0;
  }
  const ValueVector* a = tupleItems(left);
  const ValueVector* b = tupleItems(right);
  if (!a || !b || a->size() != b->size()) return false;
  for (size_t i = 0; i < a->size(); ++i) {
    if (!equalKeys((*a)[i], (*b)[i])) return false;
  }
  return true;
}

int32_t OrderedValueMap::find(const Value& key, Py_hash_t hash) const {
  if (table_.empty()) return kAbsent;
  size_t mask = table_.size() - 1;
  for (size_t slot = static_cast<size_t>(hash) & mask;; slot = (slot + 1) & mask) {
    int32_t index = table_[slot];
    if (index == kEmpty) return kAbsent;
    if (index == kUnlinked) continue;
    const Entry& entry = entries_[index];
    if (entry.hash == hash && equalKeys(entry.key, key)) return index;
  }
}

void OrderedValueMap::insertIndex(int32_t index) {
  size_t mask = table_.size() - 1;
  size_t slot = static_cast<size_t>(entries_[index].hash) & mask;
  while (table_[slot] != kEmpty) slot = (slot + 1) & mask;
  table_[slot] = index;
  ++used_;
}

void OrderedValueMap::grow() {
  std::vector<bool> linked(entries_.size(), false);
  for (int32_t index : table_) {
    if (index >= 0) linked[index] = true;
  }
  table_.assign(table_.empty() ? 8 : table_.size() * 2, kEmpty);
  used_ = 0;
  for (size_t index = 0; index < linked.size(); ++index) {
    if (linked[index]) insertIndex(static_cast<int32_t>(index));
  }
}

int32_t OrderedValueMap::append(Entry entry) {
  if (static_cast<size_t>(used_ + 1) * 3 > table_.size() * 2) grow();
  entries_.push_back(std::move(entry));
  int32_t index = entryCount() - 1;
  insertIndex(index);
  return index;
}

void OrderedValueMap::unlink(int32_t index) {
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
  if (static_cast<size_t>(used_ + 1) * 3 > table_.size() * 2) grow();
  insertIndex(index);
}

void OrderedValueMap::popLast() {
  unlink(entryCount() - 1);
  entries_.pop_back();
}

}  // namespace armature
