// Functions of TorchDynamo's that stand for others, when it is used in the same process: what it
// puts into torch.nn.Module and its subclasses (they call the ones they replaced, and keep
// TorchDynamo's own books), and what torch.compile makes of a function.
#pragma once

#include "core/ref.h"
#include "variables/library.h"

namespace armature {

// How a call of this function is performed if it is one of those, by its code; else null.
LibraryCallHandler findDynamoPatchHandler(BorrowedRef<> function);

}  // namespace armature
