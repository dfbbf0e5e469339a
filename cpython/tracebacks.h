// Traceback objects for frames that did not run.
#pragma once

#include "core/ref.h"

namespace armature::cpython {

// The builtin function make_traceback(next, code, globals, lasti, line): a traceback of a frame of
// its own, without locals, that stands at the instruction at offset `lasti` of the code. `next` is
// the traceback of the frame that was called, or None. Borrowed; null with an exception set.
PyObject* makeTracebackFunction();

}  // namespace armature::cpython
