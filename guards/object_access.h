// Reading the program's objects without running any of its code: what `d[k]`, `k in s`,
// `hasattr(o, n)` and `o.__dict__` would find, from the objects' C structures alone.
#pragma once

#include <cstdint>

#include <llvm/ADT/ArrayRef.h>

#include "core/ref.h"
#include "cpython/dict_layout.h"
#include "guards/key.h"
#include "guards/weak_copies.h"

namespace armature {

// dict.__getitem__(dict, key), for a key that hashWithoutCode knows. Unknown: the dict holds a key
// of the same hash whose own __eq__ would have to be asked.
cpython::DictItem lookUp(PyDictObject* dict, BorrowedRef<> key, Py_hash_t hash);
// list(dict)[index]; null if there is none. An OrderedDict's keys are in its own order, which
// move_to_end() changes without the dict noticing.
PyObject* keyAt(PyDictObject* dict, int64_t index);
// Are these the dict's keys, in this order? By identity, or equal as constants; a copy among
// `copies` stands for its original.
bool hasKeys(PyDictObject* dict, llvm::ArrayRef<PyObject*> keys, const WeakCopies& copies);
// Are these the set's items, in this order?
bool hasItems(PySetObject* set, llvm::ArrayRef<PyObject*> items, const WeakCopies& copies);
// Is there an item of the set that is the key, or the same constant?
bool holdsItem(PySetObject* set, BorrowedRef<> key, Py_hash_t hash);
// set.__contains__(set, key), likewise.
Presence contains(PySetObject* set, BorrowedRef<> key, Py_hash_t hash);

// len() of a list, tuple, dict, set, str, bytes, bytearray, range or deque, or of an instance of a
// subclass of them as the base type counts it; -1 for others.
int64_t lengthOf(BorrowedRef<> object);

// name in object.__dict__, wherever it lies; Unknown if the object has none.
Presence containsAttribute(BorrowedRef<> object, BorrowedRef<> name, Py_hash_t hash);
// Does object.__dict__, where it lies in a dict, hold anything? None is made.
bool hasInstanceAttributes(BorrowedRef<> object);
// object.__dict__[name] wherever it lies; null if there is none.
PyObject* instanceAttribute(BorrowedRef<> object, BorrowedRef<> name, Py_hash_t hash);

// hasattr(object, name) for an object without __getattr__ or __getattribute__ of its own and
// without properties that raise: in the type, or in the instance.
bool hasAttribute(BorrowedRef<> object, BorrowedRef<> name);

// A descriptor that makes bound methods: list.append, dict.fromkeys.
bool isBindingDescriptor(BorrowedRef<> object);
// Did the descriptor make this one?
bool isBoundBy(BorrowedRef<> object, BorrowedRef<> descriptor);

}  // namespace armature
