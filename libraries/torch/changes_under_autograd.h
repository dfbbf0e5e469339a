// Changes in place of arrays that autograd knows: as views, or as what it keeps for the backward
// pass.
#pragma once

#include "graph/graph.h"

namespace armature {

// Does a finished graph change a leaf by way of its views, one of several views that one operation
// has made, or one that was made where no gradients were recorded or in a function of the
// program's, and are there gradients? Or does it give one of the latter? Autograd refuses most of
// that (check_inplace, handle_view_on_rebase), by what it knows of how the views came about.
// Backends change them; or they are refused what autograd allows.
bool dependsOnHistoryOfViews(const Graph& graph);

// Does a finished graph give a view of an array's `data`, whose changes autograd is not told of?
// Backends make one of which it is.
bool givesHiddenView(const Graph& graph);

// May the operation change what one before it has kept for the backward pass? Autograd says so when
// that is run, if it ever is; AOTAutograd, which runs it while it compiles, always. `graph`: what
// comes before, and the node.
bool mayChangeSaved(const Node& node, const Graph& graph);

}  // namespace armature
