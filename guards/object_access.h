// Reading the program's objects without running any of its code: what `d[k]`, `k in s`,
// `hasattr(o, n)` and `o.__dict__` would find, from the objects' C structures alone.
#pragma once

#include <cstdint>

#include "core/ref.h"

namespace armature {

// `Unknown`: the container holds a key of the same hash whose own __eq__ would have to be asked.
enum class Presence : uint8_t { Present, Absent, Unknown };

struct LookupResult {
  Presence presence = Presence::Absent;
  PyObject* value = nullptr;  // borrowed; of dicts only
};

// dict.__getitem__(dict, key). Keys match by identity, or by Python's equality where both are
// constants of builtin types.
LookupResult lookUp(PyDictObject* dict, BorrowedRef<> key, Py_hash_t hash);
// list(dict)[index]; null if there is none. An OrderedDict's keys are in its own order, which
// move_to_end() changes without the dict noticing.
PyObject* keyAt(PyDictObject* dict, int64_t index);
// Are these (a list) the dict's keys, in this order? By identity, or equal as constants.
bool hasKeys(PyDictObject* dict, BorrowedRef<> keys);
// set.__contains__(set, key), likewise.
Presence contains(PySetObject* set, BorrowedRef<> key, Py_hash_t hash);

// The hash of a key that is a constant or has the default hash; -1 if user code would have to run.
Py_hash_t hashWithoutCode(BorrowedRef<> key);

// len() of a list, tuple, dict, set, str, bytes, bytearray, range or deque, or of an instance of a
// subclass of them as the base type counts it; -1 for others.
int64_t lengthOf(BorrowedRef<> object);

// Where the object keeps its __dict__, if its type gives it one. Without creating the dict: the
// place may hold null, and the attributes then lie in `instanceValue`.
PyObject** instanceDictPlace(BorrowedRef<> object);
// The offset of that place from the object, if it is the same for all instances of the type; 0 if
// not. A type cannot change it.
int32_t instanceDictOffset(const PyTypeObject* type);
// The attribute of an object whose attributes lie in an array that shares its keys with the type
// (CPython 3.11's inline values); null if it has none, or if they don't lie so.
PyObject* instanceValue(BorrowedRef<> object, BorrowedRef<> name);
// object.__dict__[name] wherever it lies; null if there is none.
PyObject* instanceAttribute(BorrowedRef<> object, BorrowedRef<> name, Py_hash_t hash);

// hasattr(object, name) for an object without __getattr__ or __getattribute__ of its own and
// without properties that raise: in the type, or in the instance.
bool hasAttribute(BorrowedRef<> object, BorrowedRef<> name);

// A member descriptor that reads a PyObject field (__slots__, slice.start, partial.func, …).
bool isObjectMember(BorrowedRef<> descriptor);
// What it reads from the object; null if unset or if the object is not of its type.
PyObject* memberValue(BorrowedRef<> object, BorrowedRef<> descriptor);

}  // namespace armature
