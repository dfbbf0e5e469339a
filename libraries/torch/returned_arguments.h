// Operations that return their argument where backends that compile return a copy.
#pragma once

#include <vector>

#include "graph/graph.h"

namespace armature {

// dropout() that drops nothing returns its argument, which AOTAutograd copies. Where anybody could
// tell, because the array is changed or is one of the graph's results, in whole or in part, the
// argument is put in the place of the result, in all the nodes and among the results. Of a graph
// that is not finished.
void resolveReturnedArguments(Graph& graph, std::vector<Node*>& results);

}  // namespace armature
