// What a type and its bases hold, read without running any code of the program: no metaclass's
// __getattribute__, no descriptor's __get__.
//
// All results are borrowed from the type, and stay valid until it, or one of its bases, changes.
// None of these functions sets an exception. `name` is an exact str; names that are looked up often
// should be interned, since the interpreter's method cache knows interned names only.
#pragma once

#include "core/ref.h"

namespace armature::cpython {

// The first attribute of that name along the MRO; null if there is none. Gives the type a version
// (version_tags.h), if it has none and one can be had.
PyObject* lookup(PyTypeObject* type, BorrowedRef<> name);

// An attribute with the place at which the MRO has it; all empty if there is none.
struct MroAttribute {
  PyObject* object = nullptr;
  PyTypeObject* owner = nullptr;
  Py_ssize_t index = -1;  // of the owner, in the MRO of the type that was asked

  explicit operator bool() const { return object != nullptr; }
};

// As lookup, with the place.
MroAttribute lookupPlace(PyTypeObject* type, BorrowedRef<> name);
// What super(after, object) looks up for an object of the type: the search begins behind `after` in
// the MRO of the type. Nothing is found if `after` is not in it.
MroAttribute lookupAfter(PyTypeObject* type, PyTypeObject* after, BorrowedRef<> name);
// In the type's own dict alone, not in its bases.
PyObject* ownAttribute(const PyTypeObject* type, BorrowedRef<> name);
// As above; null with MemoryError set where memory runs out for the name.
PyObject* ownAttribute(const PyTypeObject* type, const char* name);

// The MRO, a tuple of types; null for a type that is not ready yet.
PyObject* mro(PyTypeObject* type);
// type.__bases__, a tuple; and the base whose layout instances extend, null for object.
PyObject* bases(PyTypeObject* type);
PyTypeObject* base(PyTypeObject* type);
// The dict behind type.__dict__. For reading only: a write would go past the method cache.
PyObject* dict(const PyTypeObject* type);

// The type's Py_TPFLAGS.
unsigned long flags(const PyTypeObject* type);
// Was the type made at run time, by a class statement or PyType_FromSpec? Others are static.
bool isHeapType(const PyTypeObject* type);
// Can no Python code set attributes of the type?
bool isImmutable(const PyTypeObject* type);
// Does `case Type(x):` bind the instance itself? Inherited when the class is made.
bool isMatchedWhole(const PyTypeObject* type);
// The type itself, if it is static, else the nearest static one that its layout comes from.
PyTypeObject* staticBase(PyTypeObject* type);
// Is tp_new that of the static base? A class whose own __new__ was deleted keeps the slot for it
// (update_one_slot of typeobject.c), and object.__new__ tells by that whether to take arguments.
bool hasBuiltinNew(PyTypeObject* type);

// The name in C: "Point" for a class, "collections.deque" for a static type. It lives as long as
// the type keeps its name.
const char* nameOf(const PyTypeObject* type);
// __qualname__ of a heap type, a str.
PyObject* qualifiedName(const PyTypeObject* heapType);
// Its name alone, str.
PyObject* shortName(const PyTypeObject* heapType);

}  // namespace armature::cpython
