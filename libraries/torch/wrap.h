// torch._higher_order_ops.wrap: a call that is one operation, with what it does as a graph inside.
#pragma once

#include "core/ref.h"
#include "variables/library.h"

namespace armature {

// How `wrap` is called, if that is it; else null.
LibraryCallHandler findWrapHandler(BorrowedRef<> callable);

}  // namespace armature
