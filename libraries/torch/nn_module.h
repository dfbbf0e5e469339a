// torch.nn.Module's own attribute protocol and __call__, which every model goes through on every
// access: done here directly, with the very effects of their Python code.
#pragma once

#include "libraries/torch/torch_module.h"
#include "variables/library.h"

namespace armature {

// How a call of this function is performed if it is one of Module's, by identity; else null.
LibraryCallHandler findModuleHandler(BorrowedRef<> function);

}  // namespace armature
