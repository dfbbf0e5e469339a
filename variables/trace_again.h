// What a library does for an existing object when it is first used, be it in a trace or not.
#pragma once

#include <cstdint>

namespace armature {

// Thrown where a library has finished an existing object that it had left to be finished at its
// first use: what the trace has found out about the object no longer holds, and it is made again
// from the start. Whoever throws sees to it that the same cannot be met again.
struct TraceAgain {};

// Thrown where an operation of the graph turns out to raise, though the trace has long gone on: it
// is made again and breaks there (Graph::breakAt).
struct OperationFails {
  int32_t ordinal;
};

}  // namespace armature
