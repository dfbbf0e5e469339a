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

// The byte offset of the first instruction of the code with this place in the source, which is all
// that a traceback shows of an instruction; 0 if there is none.
Py_ssize_t offsetOf(BorrowedRef<PyCodeObject> code, int line, int endLine, int column,
                    int endColumn);
// A traceback entry of a new frame that stands at `offset`. `next`: that of the frame which was
// called, or null. Null with an exception set.
Ref<> makeTraceback(BorrowedRef<> next, BorrowedRef<PyCodeObject> code, BorrowedRef<> globals,
                    Py_ssize_t offset, int line);

}  // namespace armature::cpython
