// The continuations of a frame (variables/continuation.h), over objects: what C code does with the
// result of a special method that a graph break left to Python.
#pragma once

#include <llvm/ADT/ArrayRef.h>

#include "core/ref.h"
#include "variables/continuation.h"

namespace armature {

struct RealContinuation {
  OnReturn kind;
  size_t operandCount;
};

// Does it: to what a call gave, or to null with the exception set. `operands`: borrowed. Calls of
// Python functions are made by `caller` (CodegenEnvironment::pythonCalls), if it is not null. The
// end of an iteration is endOfIteration(), so that it can be handed on.
Ref<> continueWith(OnReturn kind, Ref<> result, llvm::ArrayRef<PyObject*> operands,
                   BorrowedRef<> caller);

// PyObject_RichCompare, in which Python methods are called by `caller`.
Ref<> compareBy(BorrowedRef<> caller, PyObject* left, PyObject* right, int op);

// An object that no program has.
BorrowedRef<> endOfIteration();

}  // namespace armature
