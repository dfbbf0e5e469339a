// Which of its arguments an operation changes, as far as its name, its schemas and its arguments
// say.
#pragma once

#include <llvm/ADT/SmallVector.h>

#include "graph/graph.h"

namespace armature {

// F.relu(x, inplace=True), out=…: what the arguments say, whatever the function.
bool isInPlaceCall(const Node& node);

bool changesArgument(const Node& node);

// The arrays that a call which changes some changes: the first argument, `out`, or what the schemas
// of its operator say; of a list, all. Nothing where they are not the graph's.
llvm::SmallVector<Node*, 4> changedArrays(const Node& node);

// Of a call that changes an array and returns one: is it that one?
bool returnsChanged(const Node& node);

// May the name's operation change something, by its schemas or as it is called?
bool changesByName(std::string_view name);

}  // namespace armature
