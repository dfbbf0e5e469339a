// torch.utils.checkpoint, as TorchDynamo puts it into the graph: the function that is checkpointed
// is the body of one operation.
#pragma once

#include "variables/library.h"

namespace armature {

// Null if the function is not torch.utils.checkpoint.checkpoint.
LibraryCallHandler findCheckpointHandler(BorrowedRef<> function);

// torch must be imported.
void registerCheckpoints();

}  // namespace armature
