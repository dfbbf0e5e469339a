// What torch makes of an object when it is first used: the operators of torch.ops, and the
// parameters of lazy modules.
#pragma once

#include <string_view>

#include "variables/library.h"

namespace armature {

// By the module that the function reads, and the qualified name of its code.
LibraryCallHandler findFirstUseHandler(std::string_view module, std::string_view codeName);

}  // namespace armature
