// Nodes that read an attribute, as getattr(x, "T") does: of an array library, an operation.
#pragma once

#include "graph/graph.h"

namespace armature {

// The builtin getattr, which is the target of such a node. Borrowed; lives as long as the process.
PyObject* getattrFunction();

// The name of the attribute, an exact str that the node owns; null where it reads none.
BorrowedRef<> attributeReadBy(const Node& node);

}  // namespace armature
