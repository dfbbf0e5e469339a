// A view requires gradients where its base does (DifferentiableViewMeta in
// torch/csrc/autograd/variable.h), so that to say it of an array says it of views.
#pragma once

#include "graph/graph.h"
#include "libraries/torch/meta_evaluation.h"

namespace armature {

// May a call of the graph that says whether an array requires gradients have said it of `node` as
// well, or of a view that was there before and that `node` is computed from?
bool mayFollowBase(const Node& node, const Graph& graph);

// Breaks where what the call says of its array may not be so, as that is a view of one that
// requires gradients.
void requireNoBase(const Node& call, InputStructures inputs);

}  // namespace armature
