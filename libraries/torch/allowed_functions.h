// Functions of the program's that it has put into graphs as they are: torch.compiler.allow_in_graph
// and torch._dynamo.nonstrict_trace.
#pragma once

#include "core/ref.h"

namespace armature {

// Is it one of them now? It is an operation then, which nobody looks into: that it does nothing but
// to compute tensors out of tensors is the program's own promise.
bool isAllowedInGraph(BorrowedRef<> callable);
// Is it a torch.autograd.Function that is one?
bool isAllowedClass(BorrowedRef<PyTypeObject> type);
// A function that calls the class's `apply`, for graphs; isAllowedInGraph().
Ref<> applyOfAllowed(BorrowedRef<PyTypeObject> type);

}  // namespace armature
