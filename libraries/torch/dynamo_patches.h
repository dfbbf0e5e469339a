// What TorchDynamo puts into torch.nn.Module and its subclasses when it is used in the same
// process: functions that call the ones they replaced, and keep TorchDynamo's own books.
#pragma once

#include "core/ref.h"
#include "variables/library.h"

namespace armature {

// How a call of this function is performed if it is one of those, by its code; else null.
LibraryCallHandler findDynamoPatchHandler(BorrowedRef<> function);

}  // namespace armature
