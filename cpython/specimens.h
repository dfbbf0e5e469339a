// Objects that programs of this room make, on which its files are tried out at import.
#pragma once

#include "core/ref.h"

namespace armature::cpython {

// While it lives, no debugger and no profiler sees what this thread runs.
class Unseen {
 public:
  Unseen() : state_(PyThreadState_Get()) { PyThreadState_EnterTracing(state_); }
  ~Unseen() { PyThreadState_LeaveTracing(state_); }
  Unseen(const Unseen&) = delete;
  Unseen& operator=(const Unseen&) = delete;

 private:
  PyThreadState* state_;
};

// The names that the program has given to what it made: a dict. Null with an exception set where it
// raised, or memory ran out.
Ref<> makeSpecimens(const char* program);

}  // namespace armature::cpython
