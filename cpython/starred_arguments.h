// What a call f(*arguments) makes of its arguments.
#pragma once

#include "core/ref.h"

namespace armature::cpython {

// The arguments as a tuple, as CALL_FUNCTION_EX has them (ceval.c). Null with an exception set,
// whose text names `callable` if they cannot be iterated over.
Ref<> starredArguments(BorrowedRef<> callable, BorrowedRef<> arguments);

}  // namespace armature::cpython
