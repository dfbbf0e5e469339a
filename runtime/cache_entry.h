// One translation of one entry point: the guards under which it holds, and what to run.
#pragma once

#include <limits>
#include <memory>
#include <optional>
#include <string>

#include "cpython/thread_state.h"
#include "guards/check_function_manager.h"
#include "interpreter/instruction_translator.h"
#include "runtime/thread_state.h"
#include "shapes/profile.h"

namespace armature {

// Visits a function of generated code. The collector does not see through code objects: where
// nobody but the caller holds the function, and nobody but the function its code, the code's
// constants (resume functions among them) belong to the caller, too.
int traverseFunction(BorrowedRef<> function, visitproc visit, void* arg);

struct CacheEntry {
  std::unique_ptr<CheckFunctionManager> guards;
  // Takes the inputs and the captures; null: run the function as it is.
  Ref<> function;
  // It holds for calls that begin with this (isErrorOnGraphBreak), if it says so.
  std::optional<bool> errorOnGraphBreak;
  // It holds where Python lets calls be nested so much further.
  int32_t leastCallsLeft = 0;
  int32_t mostCallsLeft = std::numeric_limits<int32_t>::max();

  // is_compiling() was false in the trace (EntryPoint::answersAsPython).
  bool answersAsPython = false;
  SkippedFunctions skipped;    // in the trace
  bool leavesVarying = false;  // Translator::leaveVaryingToPython()

  Profile profile;          // what was known of numbers
  uint64_t callsFound = 0;  // where translations are verified

  // For explanations; not used on the hit path.
  std::shared_ptr<const Graph> graph;
  CodePtr generated;
  std::optional<BreakReason> reason;
  Ref<> breakStatistics;  // null: its break is not measured, or it has none
  std::string recompileReason;
  double traceSeconds = 0;
  double backendSeconds = 0;
  std::vector<std::string> warnings;  // that are not given yet
  uint64_t instructionCount = 0;

  bool holds(const FrameLocalsMapping& inputs, PyObject** captures) const {
    if (errorOnGraphBreak && *errorOnGraphBreak != isErrorOnGraphBreak()) return false;
    if (!hasItsCallsLeft()) return false;
    return guards->check(inputs, captures);
  }
  bool hasItsCallsLeft() const {
    int32_t left = cpython::remainingCalls();
    return leastCallsLeft <= left && left <= mostCallsLeft;
  }
  // Visits what the entry alone holds, for the garbage collector.
  int traverse(visitproc visit, void* arg) const;
  // A dict: graph, operations, guards, guard_count, guard_program, bytecode, break_reason,
  // break_statistics, recompile_reason, trace_seconds, backend_seconds, instructions, valid. Null
  // with an exception set on failure.
  Ref<> describe() const;
};

}  // namespace armature
