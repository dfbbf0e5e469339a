// What becomes of a call whose graph raises. The graph comes before all effects of its trace, so
// those that come before the failing operation have not happened yet.
//
// If the graph itself had changed nothing but arrays of its own before, the call is forgotten and
// the function run plainly; inside of a handler of the program's, and where no code can be resumed,
// random numbers that were drawn are drawn again then (Translator::restoresRandomNumbers). If it
// had (an operation in place, a random number), the eager graph's frame has the values of what was
// computed: the runtime traces the call again up to the operation that raised, breaks there, and
// gives that trace's graph the values instead of running it (runtime/failed_graph.cc). Either way
// Python runs the operation, and the exception is its own; but one that changes something may have
// done so in part, and only raises what it has raised. What effects have of the graph's values when
// an operation is called that may fail, the graph keeps (Node::heldUntil). A frame that holds a
// value which the graph has dropped ends without it where no handler waits, and the operation
// raises what it has raised. A graph that a foreign backend runs cannot be looked into; its
// exception leaves as it is.
#pragma once

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/STLFunctionalExtras.h>

#include <memory>

#include "core/ref.h"
#include "graph/graph.h"

namespace armature {

// Returned by generated code whose graph raised. Borrowed, immortal, and seen by nobody else.
PyObject* graphFailure();

// A call that ended amid a graph that had changed something.
struct GraphFailure {
  std::shared_ptr<const Graph> graph;
  int32_t failed = 0;                     // the ordinal of the node that raised
  int32_t failedInBody = -1;              // of the one in a body of that node which did, if any
  llvm::DenseMap<int32_t, Ref<>> values;  // of nodes, by ordinal: those the frame still had
  Ref<> exception;                        // as the graph raised it, with its traceback
  Ref<> code;                             // the graph's

  // Lets go of what the frames still hold that have ended, the graph's and that of the generated
  // code: what is known of the inputs may be that nothing else holds them.
  void clearFrames() const;
  // Puts the traceback entries of frames before others. Null with an exception set.
  using Frames = llvm::function_ref<Ref<>(Ref<> traceback)>;
  // A callable that gives, once, the exception as the operation raised it, called by nobody yet.
  // `inBody`: the frames that its traceback shows in the place of the operation's bodies. Null with
  // an exception set on failure.
  Ref<> exceptionOfOperation(Frames inBody) const;
};

// The failure behind the marker that this thread's generated code has just returned; null if the
// call only has to be forgotten.
std::unique_ptr<GraphFailure> takeGraphFailure();

// A callable of a function that takes the state of random numbers and of that state from before the
// graph: puts it back where the call has to be forgotten, and so draws its numbers again.
PyObject* randomNumbersRestorer();

// A callable of the exception that `compiled`, the graph's function (see toFunction), raised: true
// if the call can go on, as takeGraphFailure() says, false if the exception has to leave.
// `firstEffect` is the ordinal of the graph's first node that changes anything. Does not keep the
// graph alive. Null with an exception set on failure.
Ref<> graphFailureRecorder(BorrowedRef<> compiled, std::shared_ptr<const Graph> graph,
                           int32_t firstEffect);

}  // namespace armature
