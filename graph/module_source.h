// torch.fx keeps the text of every GraphModule that was ever made, so that tracebacks can show it.
#pragma once

#include "core/ref.h"

namespace armature {

// Lets the text of a torch.fx.GraphModule go when the code made from it has died. False with an
// exception set on failure.
bool keepSourceWithCode(BorrowedRef<> graphModule);

}  // namespace armature
