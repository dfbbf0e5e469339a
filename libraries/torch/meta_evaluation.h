// What an operation returns, found by asking torch itself: it runs on tensors without data.
#pragma once

#include <llvm/ADT/ArrayRef.h>
#include <llvm/ADT/STLFunctionalExtras.h>

#include <optional>

#include "libraries/torch/torch_module.h"
#include "variables/library.h"

namespace armature {

// What is known of each input of a node.
using InputStructures = llvm::function_ref<const ResultStructure&(const Node&)>;

// Runs the node's operation on meta tensors, or on fake tensors where meta tensors would not tell
// the truth (devices other than the CPU, autocast), in the grad mode of the node and outside of any
// mode of the running program. Changes no state that the program could see.
//
// If the operation raises, so does this: a Constant with a null constant, and the exception that
// the real operation raises on such tensors. Throws GraphBreak where the result depends on data.
//
// `before`: nodes that are done first, on the same tensors and in their modes, because what they
// make is known only inside of levels of torch.func; inputs are asked for none of them.
ResultStructure evaluateOnMeta(const TorchModule& torch, const Node& node, InputStructures inputs,
                               llvm::ArrayRef<const Node*> before = {});

// As evaluateOnMeta, on zeros of the layouts of the inputs, on the CPU, some of which are arrays of
// other libraries. Throws GraphBreak where an array is on another device.
ResultStructure evaluateOnReal(const TorchModule& torch, const Node& node, InputStructures inputs);

// As evaluateOnMeta, on zeros of the layouts of the inputs, on the CPU, which tell the layout of
// the result. Nothing where the operation raises on those, where an array is on another device, or
// where they are too many to try. Sets no exception.
std::optional<ResultStructure> evaluateOnZeros(const TorchModule& torch, const Node& node,
                                               InputStructures inputs);

// Whether the operation runs, without a warning, on zeros of the shapes and dtypes of its inputs,
// on the CPU; nothing where they are on other devices, or too many to try. Sets no exception.
std::optional<bool> runsOnZeros(const TorchModule& torch, const Node& node, InputStructures inputs);

}  // namespace armature
