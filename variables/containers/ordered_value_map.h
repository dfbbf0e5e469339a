// An insertion-ordered map from Values to Values, with CPython's dict order.
//
// Keys are constants (hashed and compared by CPython), trackers (by identity), and tuples of both
// (element by element), as guards/key.h has it for real ones; and objects that hash and compare by
// methods of the program's, which whoever looks for a key asks. Deleted entries stay as tombstones,
// so that indexes are stable and a change is undone by restoring one entry or dropping the last
// one.
#pragma once

#include <llvm/ADT/STLFunctionalExtras.h>

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "variables/trailed.h"
#include "variables/value.h"

namespace armature {

class UserObjectVariable;

// The hash of a key, or nothing where the key cannot be modelled or is not hashable.
struct KeyHash {
  enum class Status : uint8_t { Ok, Unhashable, Unmodelled };
  Status status = Status::Ok;
  Py_hash_t hash = 0;
};
// `key` must be realized; the items of tuples in it must have been looked at. What is a key by
// methods of the program's has the hash that those have given (UserObjectVariable::keyHash).
KeyHash hashKey(const Value& key);
// Does the object hash and compare by its identity? (A member of an enumeration that is made in the
// trace does not yet.)
bool isObjectByIdentity(const UserObjectVariable* object);
// Does the program hash the key, or compare it, an item of a tuple included?
bool isKeyByMethods(const Value& key);
// Does the hash of the key, or of an item of a tuple, follow from which object it is? To the trace
// that is another number than in the process.
bool goesByIdentity(const Value& key);
// May the key equal a number that is no key's address?
bool mayBeNumber(const Value& key);
// What an item of such a tuple was realized to.
Value realizedItem(const Value& item);
// Equality of keys of which both hashed Ok, and no method of the program's is to be asked.
bool equalKeys(const Value& left, const Value& right);

class OrderedValueMap {
 public:
  struct Entry {
    Value key;
    Value value;  // null: deleted
    Py_hash_t hash = 0;
    // Was in the existing dict when the trace began, at this place (not deleted and put back).
    bool existed = false;
    bool linked = true;  // lookups find it
    // The record of SideEffects that sets it, or -1.
    int32_t effect = -1;
    bool live() const { return !value.isNull(); }
  };
  static constexpr int32_t kAbsent = -1;

  // Index of the entry of the key (which may be deleted), or kAbsent.
  int32_t find(const Value& key, Py_hash_t hash) const {
    return find(hash, [&](const Value& stored) { return equalKeys(stored, key); });
  }
  // Of the first key of that hash of which `isEqual` is true.
  int32_t find(Py_hash_t hash, llvm::function_ref<bool(const Value& stored)> isEqual) const {
    return findEntry(hash, [&](int32_t index) { return isEqual(entries_[index].key); });
  }
  int32_t findEntry(Py_hash_t hash, llvm::function_ref<bool(int32_t index)> isIt) const;
  // The key must be absent. Returns the new entry's index, which is the last.
  int32_t append(Entry entry);
  // Drops the last entry.
  void popLast();
  // Unlinks an entry from lookups; it stays as a dead entry. `relink` is its inverse.
  void unlink(int32_t index);
  void relink(int32_t index);

  Entry& operator[](int32_t index) { return entries_[index]; }
  const Entry& operator[](int32_t index) const { return entries_[index]; }
  int32_t entryCount() const { return static_cast<int32_t>(entries_.size()); }
  // Has it ever had such keys?
  bool hasKeysByMethods() const { return hasKeysByMethods_; }
  bool hasKeysByIdentity() const { return hasKeysByIdentity_; }
  bool hasNumbers() const { return hasNumbers_; }
  // Is there an address of an existing object, which is the number that it is in each call?
  bool hasLooseAddresses() const { return hasAddresses_ && !hasNumbers_; }
  // All addresses were pinned; those that are added to a map with numbers are.
  void addressesPinned(Trail& trail) { assignTrailed(trail, hasNumbers_, true); }

 private:
  void insertIndex(int32_t index);
  // Makes a table of all linked entries.
  void grow();

  static constexpr size_t kMostWithoutTable = 8;
  std::vector<Entry> entries_;
  // Open addressing, a power of two; -1 empty, -2 unlinked. None where there are few entries.
  std::vector<int32_t> table_;
  int32_t used_ = 0;
  bool hasKeysByMethods_ = false;
  bool hasKeysByIdentity_ = false;
  bool hasNumbers_ = false;  // or was asked for one, when it had addresses
  bool hasAddresses_ = false;
};

// The entries of a map that were in the existing container, by their keys: also removed ones, which
// no lookup finds where an equal key has come back.
class ExistedEntries {
 public:
  explicit ExistedEntries(const OrderedValueMap& map);
  // Index of the entry, or OrderedValueMap::kAbsent.
  int32_t find(const Value& key, Py_hash_t hash) const;

 private:
  const OrderedValueMap& map_;
  std::unordered_multimap<Py_hash_t, int32_t> byHash_;
};

}  // namespace armature
