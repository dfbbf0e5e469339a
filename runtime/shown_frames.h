// The frames of code that runs in the place of the program's, in tracebacks.
#pragma once

#include "core/ref.h"

namespace armature {

// The entries at the beginning of a traceback (null or None: none) whose frames were of code that
// stands for the program's (bytecode/shown_code.h), and have ended, show the program's code from
// now on.
void showProgramsFrames(BorrowedRef<> traceback);

// What a call of such code gave. If it raised, its frame is shown so.
PyObject* showingFrame(PyObject* result);

}  // namespace armature
