// The state of the running thread and its interpreter.
#pragma once

#include "core/ref.h"

namespace armature::cpython {

// Is each call, line or return of this thread told to a debugger, profiler or coverage tool
// (sys.settrace, sys.setprofile and their C counterparts)?
inline bool isTraced() {
  const PyThreadState* state = PyThreadState_Get();
  return state->c_tracefunc || state->c_profilefunc;
}

// Is the interpreter being taken apart (Py_FinalizeEx), past the functions of atexit?
inline bool isFinalizing() { return !Py_IsInitialized(); }

// How many calls of the thread may be nested further before CPython raises RecursionError.
inline int remainingCalls() { return PyThreadState_Get()->recursion_remaining; }

}  // namespace armature::cpython
