// What the nodes of torch's operations say of themselves.
#pragma once

#include <string_view>

#include "graph/graph.h"
#include "variables/library.h"

namespace armature {

// A function's name, or a method's, or that of the attribute which getattr reads.
std::string_view nameOf(const Node& node);

// Sets the grad mode, by torch._C._set_grad_enabled.
bool setsGradMode(const Node& node);
bool changesAutocast(const Node& node);

// An argument that is the graph of a body; a node that calls such graphs.
bool isBody(const Argument& argument);
bool callsBodies(const Node& node);

// Raises the operation on no data, given that shapes and dtypes fit?
bool neverRaisesOnData(const Node& node);

// How a library says that the operation raises: the exception is set.
bool isFailure(const ResultStructure& result);
bool requiresGrad(const ResultStructure& result);

}  // namespace armature
