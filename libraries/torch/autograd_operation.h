// torch.autograd.Function.apply as an operation of graphs for backends: forward() and backward()
// are its bodies, as in TorchDynamo's graphs.
#pragma once

#include "libraries/torch/autograd_results.h"

namespace armature {

// Traces the backward() of a call whose forward() has been traced, without gradients, and gives the
// call's result. `results` has collected what forward() returned; `context` is its ctx.
Value addAutogradOperation(Translator& translator, const Value& functionClass, const Value& context,
                           size_t firstNode, AutogradResults& results);

}  // namespace armature
