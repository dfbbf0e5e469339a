// Objects that code of ours loads as constants. Python compares and hashes code objects by their
// constants, and programs keep those of tracebacks in sets: so an object whose comparison or hash
// would be the program's code, or that has none, is a constant only within a holder.
#pragma once

#include "core/ref.h"

namespace armature {

// May a code object have it among its constants as it is?
bool mayBeConstantOfCode(BorrowedRef<> object);

// An object that goes by its identity, and whose `~` is `object`. Null with an exception set.
Ref<> holdConstant(BorrowedRef<> object);

}  // namespace armature
