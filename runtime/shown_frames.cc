#include "runtime/shown_frames.h"

#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/ADT/SmallVector.h>

#include <new>
#include <utility>

#include "bytecode/shown_code.h"
#include "core/set_exception.h"
#include "cpython/tracebacks.h"

namespace armature {

namespace {

// The entries of tracebacks that an exception leads to.
class ReachedEntries {
 public:
  ReachedEntries(BorrowedRef<> exception, BorrowedRef<> traceback) {
    addTraceback(traceback);
    if (exception) add(Ref<>::create(exception));
    for (size_t i = 0; i < exceptions_.size() && entries_.size() < kMost; ++i) {
      PyObject* each = exceptions_[i].get();
      addTraceback(Ref<>::steal(PyException_GetTraceback(each)));
      add(Ref<>::steal(PyException_GetContext(each)));
      add(Ref<>::steal(PyException_GetCause(each)));
    }
  }

  // Do they alone refer to the frame, besides frames of theirs that it has called?
  bool areAllOf(BorrowedRef<> frame) const {
    Py_ssize_t known = 0;
    llvm::SmallPtrSet<PyObject*, 8> called;
    for (BorrowedRef<> each : entries_) {
      BorrowedRef<> own = cpython::frameOfEntry(each);
      known += own == frame;
      known += cpython::keptCallerOf(each) == frame && called.insert(own.get()).second;
    }
    return Py_REFCNT(frame.get()) == known;
  }

  // Those of the frame, which ran `ran`, tell where that is in what it shows.
  void show(BorrowedRef<> frame, BorrowedRef<PyCodeObject> ran) const {
    for (BorrowedRef<> each : entries_) {
      if (cpython::frameOfEntry(each) != frame) continue;
      cpython::setOffsetOfEntry(each, shownOffset(ran, cpython::offsetOfEntry(each)));
    }
  }

 private:
  // More are not walked over: their frames are then known to have others.
  static constexpr size_t kMost = 10000;

  void add(Ref<> exception) {
    if (exception && PyExceptionInstance_Check(exception.get()) &&
        seen_.insert(exception.get()).second) {
      exceptions_.push_back(std::move(exception));
    }
  }
  // (An exception may have None.) They are kept alive by the exceptions.
  void addTraceback(BorrowedRef<> traceback) {
    for (; traceback && PyTraceBack_Check(traceback.get()) && entries_.size() < kMost;
         traceback = cpython::nextEntry(traceback)) {
      if (!seen_.insert(traceback.get()).second) return;
      entries_.push_back(traceback);
    }
  }

  llvm::SmallVector<Ref<>, 4> exceptions_;
  llvm::SmallVector<BorrowedRef<>, 16> entries_;
  llvm::SmallPtrSet<PyObject*, 16> seen_;
};

void showFrames(BorrowedRef<> exception, BorrowedRef<> traceback) {
  auto isShown = [](BorrowedRef<> entry) {
    BorrowedRef<PyCodeObject> ran = cpython::codeOfEndedFrame(entry);
    return !ran || !shownCode(ran);
  };
  if (!traceback || !PyTraceBack_Check(traceback.get()) || isShown(traceback)) return;
  ReachedEntries entries(exception, traceback);
  BorrowedRef<> frame = nullptr;
  for (; traceback && PyTraceBack_Check(traceback.get());
       traceback = cpython::nextEntry(traceback)) {
    // A frame that has raised again has several.
    if (cpython::frameOfEntry(traceback) == frame) continue;
    if (isShown(traceback)) return;
    frame = cpython::frameOfEntry(traceback);
    if (!entries.areAllOf(frame)) continue;
    auto ran = Ref<PyCodeObject>::create(cpython::codeOfEndedFrame(traceback));
    int32_t offset = cpython::offsetOfEntry(traceback);
    if (!cpython::showAs(traceback, shownCode(ran), shownOffset(ran, offset))) return;
    cpython::setOffsetOfEntry(traceback, offset);
    entries.show(frame, ran);
  }
}

}  // namespace

void showProgramsFrames(BorrowedRef<> exception, BorrowedRef<> traceback) {
  try {
    showFrames(exception, traceback);
  } catch (const std::bad_alloc&) {
    // The others show our code, which has the same places.
  }
}

PyObject* showingFrame(PyObject* result) {
  if (result) return result;
  SetException raised;
  showProgramsFrames(raised.value(), Ref<>::create(raised.traceback()));
  return nullptr;
}

}  // namespace armature
