// torch.autograd.Function.apply, where no gradient will be asked for: what forward() does is then
// all that a call does, and is in the graph like any other code.
#pragma once

#include "variables/library.h"

namespace armature {

// Null if the function is not torch.autograd.Function's own apply.
LibraryCallHandler findAutogradFunctionHandler(BorrowedRef<> function);

}  // namespace armature
