// What one armature.compile() call asked for, and what holds for all of them.
#pragma once

#include "core/ref.h"

namespace armature {

// Shared by a function and its resume functions.
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
  // (dict as CodeCache::describe gives it): a translation was finished.
  Ref<> compiled;
  // (name, why no translation fits, file name, line, limit): the recompile limit was reached, once
  // for an entry point.
  Ref<> recompileLimit;
  // (BreakReason as a dict): makes the exception that fullgraph=True raises.
  Ref<> unsupported;
  // (code object, name, message, whether it is an error and no known limit): a compilation failed.
  // What it raises reaches the user.
  Ref<> internalError;
};
Hooks& hooks();

// Compile and run captured code although a trace or profile function is set.
extern bool compileWhileTracing;

}  // namespace armature
