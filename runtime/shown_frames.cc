#include "runtime/shown_frames.h"

#include <new>

#include "bytecode/shown_code.h"
#include "core/set_exception.h"
#include "cpython/tracebacks.h"

namespace armature {

namespace {

void showFrames(BorrowedRef<> traceback) {
  BorrowedRef<> frame = nullptr;
  Ref<PyCodeObject> ran;
  // (An exception may have None.)
  for (; traceback && PyTraceBack_Check(traceback.get());
       traceback = cpython::nextEntry(traceback)) {
    int32_t offset = cpython::offsetOfEntry(traceback);
    // A frame that has raised again has several.
    if (cpython::frameOfEntry(traceback) == frame) {
      cpython::setOffsetOfEntry(traceback, shownOffset(ran, offset));
      continue;
    }
    ran = Ref<PyCodeObject>::create(cpython::codeOfEndedFrame(traceback));
    BorrowedRef<PyCodeObject> shown = ran ? shownCode(ran) : nullptr;
    if (!shown || !cpython::showAs(traceback, shown, shownOffset(ran, offset))) return;
    frame = cpython::frameOfEntry(traceback);
  }
}

}  // namespace

void showProgramsFrames(BorrowedRef<> traceback) {
  try {
    showFrames(traceback);
  } catch (const std::bad_alloc&) {
    // The others show our code, which has the same places.
  }
}

PyObject* showingFrame(PyObject* result) {
  if (result) return result;
  SetException raised;
  Ref<> traceback = Ref<>::create(raised.traceback());
  showProgramsFrames(traceback);
  return nullptr;
}

}  // namespace armature
