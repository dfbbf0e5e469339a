// Sets and frozensets, and instances of their subclasses, read without their methods.
#pragma once

#include <llvm/ADT/ArrayRef.h>

#include "core/ref.h"
#include "cpython/key_equality.h"

namespace armature::cpython {

// A walk in the set's own order; the set must not change meanwhile:
//   for (SetEntry entry; nextEntry(set, entry);) …
struct SetEntry {
  PyObject* element = nullptr;  // borrowed
  Py_hash_t hash = 0;
  Py_ssize_t position = 0;  // of the walk
};

inline bool nextEntry(BorrowedRef<> set, SetEntry& entry) {
  return _PySet_NextEntry(set, &entry.position, &entry.element, &entry.hash) > 0;
}

// Have two sets tables of one size and filling? Then, if they also give the same elements in the
// same order, no operation tells them apart.
inline bool haveLikeTables(PyObject* a, PyObject* b) {
  auto *x = reinterpret_cast<PySetObject*>(a), *y = reinterpret_cast<PySetObject*>(b);
  return x->used == y->used && x->fill == y->fill && x->mask == y->mask;
}

// Have they the same table, cell by cell? Then they stay in one order whatever is done to both.
// `same`: are two elements of one hash the same?
bool haveSameTable(PyObject* a, PyObject* b, bool (*same)(BorrowedRef<>, BorrowedRef<>));

// A new set or frozenset (`type`, exactly) with the table of the set. Null with MemoryError set.
Ref<> copyTable(PyTypeObject* type, PyObject* set);
// A new frozenset with the table of `set`, in which `elements`, in the set's order, stand for its
// own. One that hashes otherwise stays out. Null with an exception set.
Ref<> copyTable(PyObject* set, llvm::ArrayRef<PyObject*> elements);
// Gives the table of `set` to a set that was empty from its start on and is known to nobody else.
// False with MemoryError set.
bool takeTable(PyObject* target, PyObject* set);

// set.__contains__(set, key) for a key of that hash. An element that is the key is equal; for all
// others of the same hash `equality` is asked.
Presence contains(BorrowedRef<> set, BorrowedRef<> key, Py_hash_t hash, KeyEquality equality);

}  // namespace armature::cpython
