// What an imported module has under a name, without running code.
#pragma once

#include "core/ref.h"

namespace armature {

// Null, without an exception, if the module is not imported or has nothing of that name.
BorrowedRef<> importedAttribute(const char* module, const char* name);

}  // namespace armature
