// Exceptions that come through a graph's operations, and are no failures of them: whoever waits for
// one further out wants it at once, and nothing done twice.
#pragma once

#include "core/ref.h"

namespace armature {

// `find` returns the class, borrowed, or null while there is none. It has to live as long as the
// process.
void registerOutsideException(BorrowedRef<> (*find)());

// Those that are known, with MemoryError: a tuple, as an except clause takes it.
Ref<> outsideExceptions();

}  // namespace armature
