// Hooks that the program registers on tensors: they run when gradients are computed, so that they
// are registered when the graph has run.
#pragma once

#include "variables/library.h"

namespace armature {

// Of Tensor.register_hook and its like, and of the handles that they return; null for others.
LibraryCallHandler findTensorHookHandler(BorrowedRef<> function);
// Of a method of tensors, by its name.
LibraryCallHandler findTensorHookMethod(std::string_view name);

}  // namespace armature
