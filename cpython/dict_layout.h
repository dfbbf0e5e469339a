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

// len(dict), of subclasses too.
inline Py_ssize_t usedCount(const PyDictObject* dict) { return dict->ma_used; }

}  // namespace armature::cpython
