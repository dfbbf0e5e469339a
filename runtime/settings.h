// What one armature.compile() call asked for, and what holds for all of one engine.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "core/ref.h"
#include "interpreter/skipped_functions.h"
#include "variables/functions/logging_functions.h"

namespace armature {

struct CacheEntry;

// Called from C++ when something happens that logs or users may want to know. Each is null until
// somebody sets it.
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
  // As `compiled`, for programs in C++. Throws nothing, leaves no exception set.
  std::function<void(const CacheEntry&)> translated;
};

// The state of one engine, which its compiled functions share and keep alive.
struct EngineState {
  Hooks hooks;
  // Compile and run captured code although a trace or profile function is set.
  bool compileWhileTracing = false;
  // Calls that a translation is found for are traced once more: does the same come of it?
  bool verifiesTranslations = false;
  // As in Settings, for all that is compiled from now on.
  bool measuresBreaks = false;
  // Whoever changes it drops the translations that were made before.
  SkippedModules skippedModules;
  LoggingFunctions loggingFunctions;
};

// The engine of the Python package, that of every CompiledFunction which Python code makes. Lives
// as long as the process.
const std::shared_ptr<EngineState>& packageEngine();

// Shared by the functions of a family and their resume functions.
struct Settings {
  std::shared_ptr<EngineState> engine = packageEngine();
  // Turns (torch.fx.GraphModule, example inputs) into a callable; null is the eager backend, which
  // never sees a GraphModule and observes no metadata.
  Ref<> backend;
  // Turns (torch.fx.Graph, example inputs, what runs the graph in NumPy), for a graph with
  // operations of NumPy, into a callable of the arrays themselves, or None where it cannot; null:
  // NumPy runs such graphs. Nodes that are NumPy's have a text in `meta["numpy"]` that describes
  // the array.
  Ref<> mixedBackend;
  // Functions of one code object share their translations if all settings are equal, the backend
  // aside, which this object stands for by its identity; null: they share with nobody.
  Ref<> sharingKey;
  bool fullGraph = false;
  // Count how often breaks are hit, and the time that Python takes because of them.
  bool measuresBreaks = false;
  int32_t recompileLimit = 8;
};

}  // namespace armature
