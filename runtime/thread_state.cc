#include "runtime/thread_state.h"

#include <utility>

#include "cpython/thread_state.h"
#include "runtime/settings.h"

namespace armature {

namespace {

thread_local bool compiling = false;
thread_local int plainDepth = 0;
thread_local bool errorOnGraphBreak = false;
// In all threads; changed under the GIL. In a process forked while another thread translated it
// stays above 0: what that thread was in the middle of is never finished there, so nothing is
// translated any more.
int translationsUnderWay = 0;

}  // namespace

bool isCompiling() { return compiling; }
bool mayTranslate() {
  return plainDepth == 0 && translationsUnderWay == 0 && !cpython::isFinalizing() &&
         !isNearRecursionLimit();
}
// What a translation itself calls in Python (a log, a library) nests, too.
bool isNearRecursionLimit() {
  constexpr int kCallsOfTranslation = 50;
  return cpython::remainingCalls() < kCallsOfTranslation;
}
bool runsPlain() { return plainDepth > 0 || cpython::isFinalizing(); }
bool isWatched(const EngineState& engine) {
  return cpython::isTraced() && !engine.compileWhileTracing;
}

bool isErrorOnGraphBreak() { return errorOnGraphBreak; }
void setErrorOnGraphBreak(bool isError) { errorOnGraphBreak = isError; }

PlainScope::PlainScope() { ++plainDepth; }
PlainScope::~PlainScope() { --plainDepth; }

CompilingScope::CompilingScope() : outer_(std::exchange(compiling, true)) {
  ++translationsUnderWay;
}
CompilingScope::~CompilingScope() {
  compiling = outer_;
  --translationsUnderWay;
}

}  // namespace armature
