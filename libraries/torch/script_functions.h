// Functions that torch.jit has compiled, by torch.jit.script or torch.jit.trace.
#pragma once

#include "variables/library.h"

namespace armature {

bool isScriptFunction(BorrowedRef<> callable);

// What a call of one is: an operation of the graph, if all that it does is to compute.
CallRule scriptFunctionRule(BorrowedRef<> function);

}  // namespace armature
