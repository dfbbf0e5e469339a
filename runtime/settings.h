// What one armature.compile() call asked for. Shared by a function and its resume functions.
#pragma once

#include "core/ref.h"

namespace armature {

struct Settings {
  // Turns (torch.fx.GraphModule, example inputs) into a callable; null is the eager backend, which
  // never sees a GraphModule and observes no metadata.
  Ref<> backend;
  bool fullGraph = false;
  int32_t recompileLimit = 8;
};

// Called from C++ when something happens that logs or users may want to know; set by the Python
// package. Each is null until then.
struct Hooks {
  // (compiled function, dict as CacheEntry::describe gives it): a translation was finished.
  Ref<> compiled;
  // (message): the recompile limit was reached, once for a function.
  Ref<> recompileLimit;
  // (message, BreakReason as a dict): makes the exception that fullgraph=True raises.
  Ref<> unsupported;
};
Hooks& hooks();

}  // namespace armature
