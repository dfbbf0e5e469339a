// Reading a dict's hash table: what `d[k]` would find, without running any code of the program.
#pragma once

#include "core/ref.h"
#include "cpython/key_equality.h"

namespace armature::cpython {

struct DictItem {
  Presence presence = Presence::Absent;
  PyObject* value = nullptr;  // borrowed; null unless present
};

// dict.__getitem__(dict, key) for a key of that hash. Keys that are the same object are equal, and
// so are exact strs with the same characters; for all others `equality` is asked.
DictItem lookUp(PyDictObject* dict, BorrowedRef<> key, Py_hash_t hash, KeyEquality equality);

// dict.__setitem__(dict, key, value) for a key of that hash, of which nobody asks it. False with an
// exception set.
inline bool setItem(BorrowedRef<> dict, BorrowedRef<> key, BorrowedRef<> value, Py_hash_t hash) {
  return _PyDict_SetItem_KnownHash(dict, key, value, hash) == 0;
}

// del dict[key] for such a key, which must be there.
inline bool deleteItem(BorrowedRef<> dict, BorrowedRef<> key, Py_hash_t hash) {
  return _PyDict_DelItem_KnownHash(dict, key, hash) == 0;
}

// A walk in the dict's own order, with the hashes that its keys had when they came in; the dict
// must not change meanwhile. The objects are borrowed.
struct DictEntry {
  PyObject* key = nullptr;
  PyObject* value = nullptr;
  Py_hash_t hash = 0;
  Py_ssize_t position = 0;  // of the walk
};
inline bool nextEntry(BorrowedRef<> dict, DictEntry& entry) {
  return _PyDict_Next(dict, &entry.position, &entry.key, &entry.value, &entry.hash) != 0;
}

// len(dict), of subclasses too.
inline Py_ssize_t usedCount(const PyDictObject* dict) { return dict->ma_used; }

}  // namespace armature::cpython
