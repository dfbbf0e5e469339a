// Code that looks at how tensors were computed. Behind a graph that a backend has computed, what it
// finds is the backend's one function: gradients pass its results only as far as they are used
// behind it, so that a hook on a result misses those of the uses inside of the graph.
#pragma once

#include "bytecode/code.h"
#include "variables/library.h"

namespace armature {

// By the names that the code, and what is defined in it, looks up. No code of torch's own.
HistoryUse historyUseOf(const Code& code, BorrowedRef<> globals);

// Of a finished graph: would the program find another history of its results than Python's, if a
// backend computed them?
bool losesHistory(const Graph& graph, HistoryUse use);

}  // namespace armature
