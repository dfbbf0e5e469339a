// Captures the Python frames of a thread, whoever calls them: C code, too.
//
// While a FrameHook is started, CPython asks for every frame that begins in the thread
// (cpython/frame_evaluation.h). One that no rule excludes runs as a call of a compiled function
// would, by the translations that its code has in common with those; all others run as they would
// without it.
#pragma once

#include <Python.h>

#include <memory>

#include "core/ref.h"
#include "runtime/settings.h"

namespace armature {

// Does a hook with these settings capture, in this thread, what Python code calls?
bool capturesFrames(const Settings& settings);

// How many hooks are started in this thread, one inside of the other.
int startedFrameHooks();

// The next frame of the function, which is called in the life of the scope, runs as it is.
class LeftAloneScope {
 public:
  explicit LeftAloneScope(BorrowedRef<> function);
  ~LeftAloneScope();
  LeftAloneScope(const LeftAloneScope&) = delete;
  LeftAloneScope& operator=(const LeftAloneScope&) = delete;

 private:
  BorrowedRef<> before_;
};

// Adds armature._C.FrameHook(backend, recompile_limit, sharing_key, standard_library) to the
// module. -1 with an exception set.
int addFrameHookType(PyObject* module);

}  // namespace armature
