// What a call of a torch.nn.Module comes to.
#pragma once

#include "core/ref.h"

namespace armature {

// The function `forward` of the module's class, if calling that with the module is all that a call
// of the module does: there is no hook, and nothing on the way is overridden. Else null, as for
// objects that are no modules. Borrowed; runs no code, sets no exception.
BorrowedRef<> forwardOf(BorrowedRef<> object);

}  // namespace armature
