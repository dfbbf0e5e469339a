#include "variables/recursion_guard.h"

namespace armature {

void RecursionGuard::fail() { throw GraphBreak(GraphBreakKind::DeepRecursion); }

}  // namespace armature
