// Calls of torch's, and operators, that take arrays of other libraries beside tensors, or make
// them.
#pragma once

#include <string_view>

#include "graph/graph.h"

namespace armature {

// Tensor.numpy and the like: methods that return an array of another library.
bool returnsForeignArray(std::string_view method);

// Library::takesForeign, of functions and methods of torch, and of operators. `name`: the
// function's, or the method's.
bool torchTakesForeign(const Node& node, std::string_view name, bool isOperator);

}  // namespace armature
