// torch.cond in the graph, as TorchDynamo puts it there: both branches are traced and become bodies
// of one operation, which runs one of them.
#pragma once

#include "variables/library.h"

namespace armature {

// Null if it is neither torch.cond nor the operator that it calls.
LibraryCallHandler findCondHandler(BorrowedRef<> callable);

}  // namespace armature
