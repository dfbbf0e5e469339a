// Rules for what the common operations return: dtype, device, shape, strides and requires_grad,
// computed from those of the inputs.
#pragma once

#include "libraries/torch/meta_evaluation.h"

namespace armature {

// False if no rule knows the node's operation, or the rule does not know this form of it, or the
// operation would raise: then torch itself has to be asked. Sets no exception.
bool applyMetadataRule(const Node& node, InputStructures inputs, ResultStructure& result);

// Does each element of the result follow from those at the same index of the (broadcast) arguments?
// False for operations that are not known.
bool isElementwise(const Node& node);

}  // namespace armature
