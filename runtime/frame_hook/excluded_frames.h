// Frames that the frame hook leaves to Python, by rules.
#pragma once

#include <Python.h>

#include <cstdint>

#include "core/ref.h"

namespace armature {

enum class Exclusion : uint8_t {
  None,
  // Ours, which nobody counts: generated code, the package's functions.
  Generated,
  Own,
  // The program sees all variables of its frame by name.
  ReadsFrame,
  // Its frame is left and entered again.
  Suspends,
  // It keeps its variables in a namespace.
  Namespace,
  ImportSystem,
  StandardLibrary,
  Library,
  // The program has put it together: no compiler has made it.
  PutTogether,
  // The program asked for it (config.skip_modules, disable()).
  Skipped,
  // A debugger, profiler or coverage tool watches.
  Watched,
  // A hook that was set later, on top of ours, evaluates frames, and would be shown generated code.
  OtherHook,
  Count,
};

// Why, for people.
const char* reasonOf(Exclusion exclusion);

// What the code itself says: one of the above down to PutTogether. Throws PendingPythonException.
Exclusion exclusionOf(BorrowedRef<PyCodeObject> code, bool capturesStandardLibrary);

}  // namespace armature
