// What the `except` clauses of a program would do with an exception that is not known yet.
#pragma once

#include <llvm/ADT/STLFunctionalExtras.h>

#include "interpreter/frame.h"
#include "variables/translator.h"

namespace armature {

// Would the handler of `frame` that begins at `handler` do nothing but raise the exception again?
// It does if it is the compiler's clean-up, or `except` clauses that name builtin exceptions only,
// of which `isCaught` says false. What the names mean is guarded; for any other handler the answer
// is false.
bool passesClauses(Translator& translator, const Frame& frame, int32_t handler,
                   llvm::function_ref<bool(PyObject* error)> isCaught);

}  // namespace armature
