// Calls in code that stays Python: what they call may be captured, though they are not.
#pragma once

#include "bytecode/code.h"

namespace armature {

// The same code, but that each call `callable(*arguments)` is the call
// `caller(callable, *arguments)`. Positions, regions and variables stay as they are. Calls whose
// callable the code does not load in the compiler's way stay, too.
Code rewriteCalls(const Code& code, BorrowedRef<> caller);

}  // namespace armature
