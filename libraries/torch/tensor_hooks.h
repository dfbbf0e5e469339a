// Hooks that the program registers on tensors: they run when gradients are computed, so that they
// are given when the graph has run. Those of leaves that were there before are registered then;
// those of the graph's own tensors take the places that the graph has reserved.
#pragma once

#include <optional>

#include "variables/library.h"

namespace armature {

// Of Tensor.register_hook and its like, and of the handles that they return; null for others.
LibraryCallHandler findTensorHookHandler(BorrowedRef<> function);
// Of an operation that reserves a hook's place; nothing for others.
std::optional<NodeEffect> effectOfHook(const Node& node);
// Of a method of tensors, by its name.
LibraryCallHandler findTensorHookMethod(std::string_view name);

}  // namespace armature
