// Where an instance keeps its attributes: in a dict, or in an array of values whose names its class
// holds (CPython 3.11's inline values).
#pragma once

#include <cstdint>

#include <llvm/ADT/STLFunctionalExtras.h>

#include "core/ref.h"

namespace armature::cpython {

// The offset of the object's place for a dict, if it is the same for all instances of the type; 0
// if not. A type cannot change it.
inline int32_t instanceDictOffset(const PyTypeObject* type) {
#if PY_VERSION_HEX < 0x030C0000
  // A managed dict lies before the object's header (pycore_object.h, _PyObject_ManagedDictPointer).
  constexpr int managedDictWord = -3;
  if (type->tp_flags & Py_TPFLAGS_MANAGED_DICT)
    return managedDictWord * static_cast<int32_t>(sizeof(PyObject*));
#else
  if (type->tp_flags & Py_TPFLAGS_MANAGED_DICT) return 0;
#endif
  return type->tp_dictoffset > 0 ? static_cast<int32_t>(type->tp_dictoffset) : 0;
}

// Can instances of the type have a dict at all?
inline bool hasInstanceDict(const PyTypeObject* type) {
  return type->tp_flags & Py_TPFLAGS_MANAGED_DICT || type->tp_dictoffset != 0;
}

// Do instances of the type keep their attributes inline until somebody asks for their dict?
inline bool keepsInlineValues(const PyTypeObject* type) {
  return type->tp_flags & Py_TPFLAGS_MANAGED_DICT;
}

// Have instances of the type parts besides so many slots, a dict and weak references? Such objects,
// object.__reduce_ex__ refuses (object_getstate_default of typeobject.c).
bool hasMoreParts(const PyTypeObject* type, size_t slots);

// Does the error that tells that an object's dict lacks an attribute to delete name the object? In
// early releases of 3.11, its only argument is the attribute's name.
bool deletionErrorNamesObject();

// Where the object keeps its __dict__; null if its type gives it none. Without creating the dict:
// the place may hold null, and the attributes then lie in `inlineValue`.
inline PyObject** instanceDictPlace(BorrowedRef<> object) {
  if (int32_t offset = instanceDictOffset(Py_TYPE(object.get())))
    return reinterpret_cast<PyObject**>(reinterpret_cast<char*>(object.get()) + offset);
  // Of variable size, or none at all; never a managed one, which this would create.
  return _PyObject_GetDictPtr(object);
}

// Has the object's __dict__ the key now, whatever a trace is about to do to it? False also where it
// has none, without an exception.
bool hasOwnAttribute(BorrowedRef<> object, BorrowedRef<> name);

// The object's __dict__, borrowed; it is made, and kept by the object, if it did not exist. Null if
// the type gives it none, or there is no memory.
PyObject* materializedInstanceDict(BorrowedRef<> object);

// object.__dict__[name] = value, without making the dict where the object keeps its values inline.
// False with an exception set.
bool setOwnAttribute(BorrowedRef<> object, BorrowedRef<> name, BorrowedRef<> value);

// The attribute of an object that keeps inline values; null if it has none of that name, or if it
// does not keep them. `name` is an exact str.
PyObject* inlineValue(BorrowedRef<> object, BorrowedRef<> name);

// Calls `visit` with the name and the value of each attribute that the object keeps itself,
// wherever that is. What it keeps under other keys than strings is left out. Runs no code of the
// program.
void visitAttributes(BorrowedRef<> object,
                     llvm::function_ref<void(PyObject* name, PyObject* value)> visit);

}  // namespace armature::cpython
