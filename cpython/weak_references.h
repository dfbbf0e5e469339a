// The weak references to an object.
#pragma once

#include "core/ref.h"

namespace armature::cpython {

// Calls `visit` with the callback of each weak reference to the object that has one, until it
// returns true; whether it did. Runs no code of the program.
bool anyWeakReferenceCallback(BorrowedRef<> object, bool (*visit)(BorrowedRef<> callback));

// Has anybody a weak reference to the object, with a callback or without?
bool hasWeakReference(BorrowedRef<> object);

// weakref.ref.
PyTypeObject* weakReferenceType();

}  // namespace armature::cpython
