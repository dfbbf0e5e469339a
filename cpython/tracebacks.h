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

// continue_frame(earlier): what `earlier` stood for, the frame of a function of the program, goes
// on in the frame that calls this. `earlier` keeps that alive, and with it what its locals hold in
// the end, as the one frame object that plain Python has would. Returns what is to be given to the
// next such call: `earlier`, or the frame that was told before, where something else shows that as
// well.
PyObject* continueFrameFunction();
// suspend_frame(earlier): the frame that `earlier` stood for does not run for now, and has no
// caller; what it holds, a generator does. `earlier` is as it was before anything was told.
PyObject* suspendFrameFunction();
// end_generator_frame(earlier, held): what `earlier` stood for was a generator's frame, which is
// about to return. It has no caller from then on, and keeps the tuple `held`.
PyObject* endGeneratorFrameFunction();
// The exception that is set leaves the frame of a generator with this code: that has no caller any
// more (clear_gen_frame in ceval.c).
void forgetCallerOfGenerator(BorrowedRef<PyCodeObject> code);
// A generator is left, at a yield or for good: what stood for its frame, `shown` and what was told
// to it, has no caller any more, unless it runs. An exception that is set stays.
void forgetCallersOf(BorrowedRef<> shown);
// own_frame(): the frame that calls.
PyObject* ownFrameFunction();

// The byte offset of the first instruction of the code with this place in the source, which is all
// that a traceback shows of an instruction; 0 if there is none.
Py_ssize_t offsetOf(BorrowedRef<PyCodeObject> code, int line, int endLine, int column,
                    int endColumn);
// A traceback entry of a new frame that stands at `offset`. `next`: that of the frame which was
// called, or null. Null with an exception set.
Ref<> makeTraceback(BorrowedRef<> next, BorrowedRef<PyCodeObject> code, BorrowedRef<> globals,
                    Py_ssize_t offset, int line);

// The code of the frame that an entry of a traceback shows, once that has ended; null as it runs.
BorrowedRef<PyCodeObject> codeOfEndedFrame(BorrowedRef<> traceback);
// That frame shows a running of `code` from now on, at this offset, with what the locals of these
// names held; of `x_1`, where `code` has no such name, and the last, `x`. What else it held is let
// go of. False, without an exception, if it has no room for the locals of `code`.
bool showAs(BorrowedRef<> traceback, BorrowedRef<PyCodeObject> code, int32_t offset);

// The frame that called the one of the entry, as far as that keeps it alive; null where it does
// not.
BorrowedRef<> keptCallerOf(BorrowedRef<> traceback);
// The entry of a traceback: its frame, its offset, the next one (null after the last).
BorrowedRef<> frameOfEntry(BorrowedRef<> traceback);
int32_t offsetOfEntry(BorrowedRef<> traceback);
void setOffsetOfEntry(BorrowedRef<> traceback, int32_t offset);
BorrowedRef<> nextEntry(BorrowedRef<> traceback);

}  // namespace armature::cpython
