// What the running thread is doing, as far as it decides whether compiled functions are captured.
//
// It belongs to threads and to the process, not to an engine: what libraries are, which all engines
// share, is found out in the middle of translations.
#pragma once

#include "runtime/settings.h"

namespace armature {

// True while this thread traces.
bool isCompiling();
// False while any thread translates: a trace, or a backend, may let another one have the GIL, even
// in the middle of initializing a static variable; that one runs plainly and never waits. False at
// the end of the process, too, when modules are taken apart.
bool mayTranslate();
// CPython is about to raise RecursionError: nothing is translated there.
bool isNearRecursionLimit();
// True while this thread traces, or runs a disabled function: compiled functions that are called
// meanwhile run as they are. And at the end of the process, when modules are taken apart.
bool runsPlain();
// True if a debugger, profiler or coverage tool watches the frames of this thread, which would see
// nothing of captured code, and the engine is to respect that.
bool isWatched(const EngineState& engine);

// True where the program has asked that a graph break be an error: in this thread, until it is set
// again.
bool isErrorOnGraphBreak();
void setErrorOnGraphBreak(bool isError);

class PlainScope {
 public:
  PlainScope();
  ~PlainScope();
  PlainScope(const PlainScope&) = delete;
  PlainScope& operator=(const PlainScope&) = delete;
};

class CompilingScope {
 public:
  CompilingScope();
  ~CompilingScope();
  CompilingScope(const CompilingScope&) = delete;
  CompilingScope& operator=(const CompilingScope&) = delete;

 private:
  PlainScope plain_;
  bool outer_;
};

}  // namespace armature
