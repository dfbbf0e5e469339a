// The frames of code that runs in the place of the program's, in tracebacks.
#pragma once

#include "core/ref.h"

namespace armature {

// The entries at the beginning of the traceback (null or None: none) of an exception (or null)
// whose frames were of code that stands for the program's (bytecode/shown_code.h), and have ended,
// show the program's code from now on, and so do the entries of its causes and contexts that have
// these frames. A frame to which something else refers stays as it is: that may be an entry, which
// tells a place in the code that ran.
void showProgramsFrames(BorrowedRef<> exception, BorrowedRef<> traceback);

// What a call of such code gave. If it raised, its frame is shown so.
PyObject* showingFrame(PyObject* result);

}  // namespace armature
