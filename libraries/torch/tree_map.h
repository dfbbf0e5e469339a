// torch.utils._pytree.tree_map and tree_map_, which TorchDynamo does not trace through either.
#pragma once

#include "variables/library.h"

namespace armature {

// Does what their code does, with the module's own functions, but names no node after a variable of
// theirs. Null for all other functions.
LibraryCallHandler findTreeMapHandler(std::string_view qualifiedName);

}  // namespace armature
