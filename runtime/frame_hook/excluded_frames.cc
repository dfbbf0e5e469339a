#include "runtime/frame_hook/excluded_frames.h"

#include "bytecode/code.h"
#include "bytecode/native.h"
#include "core/constant.h"
#include "core/pending_python_exception.h"
#include "libraries/skipped_code.h"

namespace armature {

namespace {

// Whoever's it is, of the standard library or not.
Exclusion findExclusion(BorrowedRef<PyCodeObject> code) {
  if (isLowered(code)) return Exclusion::Generated;
  constexpr int kSuspends = CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR;
  if (code->co_flags & kSuspends) return Exclusion::Suspends;
  constexpr int kFunction = CO_OPTIMIZED | CO_NEWLOCALS;
  switch (skippedCode(code)) {
    case SkippedCode::Own:
      return Exclusion::Own;
    case SkippedCode::Frozen:
      return Exclusion::ImportSystem;
    case SkippedCode::Library:
      return Exclusion::Library;
    case SkippedCode::StandardLibrary:
    case SkippedCode::No:
      break;
  }
  if ((code->co_flags & kFunction) != kFunction) return Exclusion::Namespace;
  if (!isConstant(reinterpret_cast<PyObject*>(code.get()))) return Exclusion::PutTogether;
  CodePtr canonical = lift(code);
  if (!canonical) {
    bool isMalformed = PyErr_ExceptionMatches(PyExc_ValueError);
    if (!isMalformed) throw PendingPythonException();
    clearException();
    return Exclusion::PutTogether;
  }
  return canonical->readsOwnFrame ? Exclusion::ReadsFrame : Exclusion::None;
}

// What was found out about a code object, which keeps it: never null.
struct Found {
  Exclusion exclusion;
  bool isStandardLibrary;

  void* packed() const {
    return reinterpret_cast<void*>(kIsFound | static_cast<uintptr_t>(exclusion) << 2 |
                                   static_cast<uintptr_t>(isStandardLibrary) << 1);
  }
  static Found from(void* packed) {
    auto bits = reinterpret_cast<uintptr_t>(packed);
    return {static_cast<Exclusion>(bits >> 2), (bits & 2) != 0};
  }

 private:
  static constexpr uintptr_t kIsFound = 1;
};

native::CodeExtra findings([](void*) {});

Found find(BorrowedRef<PyCodeObject> code) {
  void* known = nullptr;
  if (!findings.get(code, &known)) throw PendingPythonException();
  if (known) return Found::from(known);
  Found found{findExclusion(code), skippedCode(code) == SkippedCode::StandardLibrary};
  if (!findings.set(code, found.packed())) throw PendingPythonException();
  return found;
}

}  // namespace

const char* reasonOf(Exclusion exclusion) {
  switch (exclusion) {
    case Exclusion::ReadsFrame:
      return "reads its own frame (locals, eval and their like)";
    case Exclusion::Suspends:
      return "the body of a generator or coroutine";
    case Exclusion::Namespace:
      return "the body of a module or class";
    case Exclusion::ImportSystem:
      return "the import system";
    case Exclusion::StandardLibrary:
      return "the standard library";
    case Exclusion::Library:
      return "an array library or a compiler";
    case Exclusion::PutTogether:
      return "code that no compiler has made";
    case Exclusion::Skipped:
      return "kept out of graphs by the program";
    case Exclusion::Watched:
      return "a trace or profile function is set";
    case Exclusion::OtherHook:
      return "another frame hook is in force";
    case Exclusion::None:
    case Exclusion::Generated:
    case Exclusion::Own:
    case Exclusion::Count:
      break;
  }
  return "";
}

Exclusion exclusionOf(BorrowedRef<PyCodeObject> code, bool capturesStandardLibrary) {
  Found found = find(code);
  bool isOurs = found.exclusion == Exclusion::Generated || found.exclusion == Exclusion::Own;
  bool isLeft = found.isStandardLibrary && !capturesStandardLibrary && !isOurs;
  return isLeft ? Exclusion::StandardLibrary : found.exclusion;
}

}  // namespace armature
