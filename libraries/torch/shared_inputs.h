// Bodies of one operation that take the same inputs.
#pragma once

#include "graph/graph.h"

namespace armature {

// The same inputs for both: those that both use, then those of one alone, by their names. The
// parameters of an input that only one of them uses say in both of which, by its suffix.
void shareInputs(Graph::Subgraph& one, const char* suffix, Graph::Subgraph& other,
                 const char* otherSuffix);

}  // namespace armature
