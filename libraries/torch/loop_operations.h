// torch's loops as operations of a graph: while_loop, map and scan, whose bodies take what the loop
// gives them in each turn.
#pragma once

#include "variables/library.h"

namespace armature {

// How calls of the operator are traced; null if it is none of these.
LibraryCallHandler findLoopHandler(BorrowedRef<> higherOrderOperator);

}  // namespace armature
