// Frame objects for frames that did not run, for tracebacks to show.
#pragma once

#include "core/ref.h"

namespace armature::cpython {

// The builtin function make_frame(code, globals, lasti): a frame of its own, without locals, that
// stands at the instruction at offset `lasti` of the code. Borrowed; null with an exception set.
PyObject* makeFrameFunction();
// set_frame_local(frame, index, value): puts the value, or the cell, into a slot of a frame that
// make_frame has made.
PyObject* setFrameLocalFunction();

}  // namespace armature::cpython
