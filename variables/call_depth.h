// How deep calls are nested in a trace, as CPython counts it: frames, and C code that may come back
// to itself.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/graph_break.h"
#include "cpython/thread_state.h"

namespace armature {

class CallDepth {
 public:
  // Throws where Python would raise RecursionError.
  void enter() {
    if (depth_ >= left_) throw GraphBreak(GraphBreakKind::RecursionLimit);
    most_ = std::max(most_, ++depth_);
  }
  void leave() { --depth_; }

  // How deep Python would have gone from where the trace began, and how deep the trace has gone.
  int32_t left() const { return left_; }
  int32_t most() const { return most_; }

 private:
  int32_t depth_ = 0, most_ = 0;
  const int32_t left_ = cpython::remainingCalls();
};

}  // namespace armature
