// All array libraries that this build knows.
#pragma once

#include "core/ref.h"

namespace armature {

// Registers those that the process has imported by now. Cheap to repeat; imports nothing. False
// with a Python exception set if the program was interrupted meanwhile; nothing is lost by that.
bool registerLibraries();

// The function that a call of an object comes to, to be called with the object first: as a rule its
// class's __call__ (null: there is none), or what a library says stands behind that. Borrowed; runs
// no code, sets no exception.
BorrowedRef<> calledFunction(BorrowedRef<> object);

}  // namespace armature
