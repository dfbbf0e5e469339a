// How the eager backend writes the operations of a graph.
#pragma once

#include <llvm/ADT/DenseMap.h>

#include "bytecode/assembler.h"
#include "graph/graph.h"
#include "graph/mode_state.h"

namespace armature {

// The locals of the other code that hold the placeholders, and those that are to hold the outputs.
using InlinedLocals = llvm::DenseMap<const Node*, int32_t>;

// Writes the nodes of a finished graph in their order, as toFunction() does. Intermediate values
// are dropped at their last use; placeholders stay. Each instruction has the line of its node, if
// that is a line of the file, else the one before it. Throws PendingPythonException.
void inlineGraph(const Graph& graph, Assembler& assembler, const InlinedLocals& locals,
                 BorrowedRef<> filename);

// Is it a function that toFunction() has made, of a graph or, for that, of a body?
bool isEagerFunction(BorrowedRef<> function);

// In the place of `target`, a function that does little but call another one, the eager backend
// calls `eager`. It takes the target's arguments and does what the target does, whatever the
// program has changed meanwhile. Both are kept for good.
void registerEagerTarget(Ref<> target, Ref<> eager);

// A target that sets a mode. Where the body of an operation raises (or is stopped, as torch's
// checkpoints do), the operations behind it that would have set the mode back are not run: the
// eager backend puts back what it was when the body began. The target is kept for good.
void registerModeTarget(Ref<> target, const ModeState& state);

}  // namespace armature
