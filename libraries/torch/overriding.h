// Which types of arguments take over torch's operations (__torch_function__).
#pragma once

#include "libraries/torch/torch_module.h"
#include "variables/library.h"

namespace armature {

// Why an operation with this argument is not torch's own to perform; null if it is. Guards what the
// answer depends on.
const char* reasonOfOverride(Translator& translator, const TorchModule& torch,
                             const Value& argument);

// How the questions of torch's Python code (torch.overrides.has_torch_function and its like) are
// answered: by the identity of their C functions; null for all others.
LibraryCallHandler findOverrideQueryHandler(BorrowedRef<> function);

}  // namespace armature
