// What a library does for an existing object when it is first used, be it in a trace or not.
#pragma once

namespace armature {

// Thrown where a library has finished an existing object that it had left to be finished at its
// first use: what the trace has found out about the object no longer holds, and it is made again
// from the start. Whoever throws sees to it that the same cannot be met again.
struct TraceAgain {};

}  // namespace armature
