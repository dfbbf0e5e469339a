// Steps of iterators that ask others or call functions, over objects: the rest of a step of which a
// graph break left a call to Python (variables/containers/composed_iterators.h).
#pragma once

#include <llvm/ADT/ArrayRef.h>

#include "core/ref.h"

namespace armature {

// The operands: those of OnReturn::NextStep. `result`: what the call gave, endOfIteration(), or
// null with the exception set. Gives the item, endOfIteration(), or null with the exception set.
Ref<> goOnWithStep(Ref<> result, llvm::ArrayRef<PyObject*> operands, BorrowedRef<> caller);

}  // namespace armature
