// Keys of dicts and sets that are hashed and compared without running code of the program's:
// constants, objects that hash and compare by their identity, weak references to those, and tuples
// of such keys.
#pragma once

#include <optional>

#include "core/ref.h"
#include "cpython/key_equality.h"

namespace armature {

using cpython::Presence;

// What a dict does with two keys of the same hash: identity, then ==.
Presence equalKeys(BorrowedRef<> stored, BorrowedRef<> key);

// PyObject_Hash(key); nothing if user code would have to run for it, or if it is unhashable.
std::optional<Py_hash_t> hashWithoutCode(BorrowedRef<> key);

// Do instances of the type hash and compare by their identity? Those of object's own __hash__ and
// __eq__ do, members of enumerations, and those that a library says do.
bool isKeyByIdentity(PyTypeObject* type);

// Are they members of an enumeration, which hash by their name? A member that is still being made
// has none yet.
bool isKeyByName(PyTypeObject* type);

// Does the type hash and compare as tuple itself does?
bool isKeyByItems(PyTypeObject* type);

// For a library: a type whose __hash__ is id(self), though it may compare otherwise (torch.Tensor).
void registerHashById(PyTypeObject* type);

}  // namespace armature
