// torch.autograd.Function.apply. Where no gradient will be asked for, what forward() does is all
// that a call does, and is in the graph like any other code; else the call is an operation of the
// graph (autograd_call.h).
#pragma once

#include "variables/library.h"

namespace armature {

// Null if the function is not torch.autograd.Function's own apply.
LibraryCallHandler findAutogradFunctionHandler(BorrowedRef<> function);

}  // namespace armature
