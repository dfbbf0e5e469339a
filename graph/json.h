// The graph as JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "graph/graph.h"

namespace armature {

// {"nodes": [{"name", "operation", "target", "arguments", "keyword_arguments", "source",
// "metadata", "location", "users"}, …]}. Arguments: {"node": name}, {"tuple": […]}, {"list": […]},
// {"slice": […]}, {"dict": [[key, value], …]}; None, bool, int, float and str as themselves where
// JSON has them; any other constant as {"constant": repr}.
nlohmann::json toJson(const Graph& graph);

}  // namespace armature
