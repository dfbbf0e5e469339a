#pragma once

#include "graph/graph.h"

namespace armature {

// Is a node among the argument's parts?
inline bool mentionsNode(const Argument& argument) {
  bool found = false;
  forEachInput(argument, [&](Node*) { found = true; });
  return found;
}

}  // namespace armature
