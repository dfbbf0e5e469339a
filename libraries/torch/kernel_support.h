// Whether an operation that raises nothing on meta tensors has a kernel for such arguments: meta
// tensors know nothing of "not implemented for 'Half'". And whether it has nothing to warn of.
#pragma once

#include "libraries/torch/meta_evaluation.h"

namespace armature {

// Runs the operation on zeros like its inputs, where they are small enough, and remembers what ran,
// for the operation, the dtypes and sizes of its inputs, and its other arguments. False also where
// nobody can tell. Sets no exception.
bool runsSilently(const TorchModule& torch, const Node& node, InputStructures inputs);

}  // namespace armature
