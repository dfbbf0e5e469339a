// Bounds the C++ recursion of slots that call slots: nested containers, special methods that call
// Python functions that call special methods. The data of the program says how deep that goes, and
// nothing says that it ends.
#pragma once

#include "core/native_stack.h"
#include "variables/translator.h"

namespace armature {

// Held for the length of a call that may come back to itself. Its constructor throws a GraphBreak
// where the nesting is too deep: Python then does the operation, with its own limit and error.
class [[nodiscard]] RecursionGuard {
 public:
  explicit RecursionGuard(Translator& translator) : depth_(translator.recursionDepth_) {
    if (depth_ >= kLimit || translator.nativeStack_.isNearlyFull()) fail();
    ++depth_;
  }
  ~RecursionGuard() { --depth_; }
  RecursionGuard(const RecursionGuard&) = delete;
  RecursionGuard& operator=(const RecursionGuard&) = delete;

 private:
  // The same for every thread, so that a trace breaks at the same place however it was reached;
  // where a thread's stack is too small for that, the stack decides.
  static constexpr int kLimit = 1000;
  [[noreturn]] static void fail();
  int& depth_;
};

// Held for the length of a call of C code that CPython counts as one more that is nested
// (Py_EnterRecursiveCall).
class [[nodiscard]] CountedCall {
 public:
  explicit CountedCall(Translator& translator) : depth_(translator.callDepth) { depth_.enter(); }
  ~CountedCall() { depth_.leave(); }
  CountedCall(const CountedCall&) = delete;
  CountedCall& operator=(const CountedCall&) = delete;

 private:
  CallDepth& depth_;
};

}  // namespace armature
