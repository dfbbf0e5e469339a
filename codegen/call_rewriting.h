// Calls in code that stays Python: what they call may be captured, though they are not.
#pragma once

#include "bytecode/code.h"

namespace armature {

// The same code, but that each call is made by `caller`: CodegenEnvironment::pythonCalls.
// Positions, regions and variables stay as they are. Calls whose callable the code does not load in
// the compiler's way stay, too. Throws PendingPythonException.
Code rewriteCalls(const Code& code, BorrowedRef<> caller);

// The instruction that left the lower of the two entries below the arguments of a call: PUSH_NULL
// or LOAD_METHOD, which the compiler puts before them in the text of the code, or MAKE_FUNCTION,
// where a comprehension's function is called like the method of its iterator. -1 if another did.
// `depths`: stackDepths().
int32_t beginningOfCall(const Code& code, const std::vector<int32_t>& depths, int32_t call);

// What CALL_FUNCTION_EX calls in place of the callable, with that, the arguments and, if there are
// some, the keywords. Throws PendingPythonException.
Ref<> starredCaller(BorrowedRef<> caller);

}  // namespace armature
