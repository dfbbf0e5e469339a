// Traceback objects of exceptions that the trace raised.
#pragma once

#include "bytecode/code.h"
#include "variables/containers/dict.h"
#include "variables/variable_tracker.h"

namespace armature {

// One frame that an exception has passed. Nothing of it changes.
class TracebackVariable : public VariableTracker {
 public:
  ARMATURE_KIND(Traceback)
  TracebackVariable(Value next, CodePtr code, int32_t pc, DictVariable* globals)
      : VariableTracker(VariableKind::Traceback, &PyTraceBack_Type),
        next(std::move(next)),
        code(std::move(code)),
        pc(pc),
        globals(globals) {}

  const Value next;  // tb_next: the frame that was called; null if there is none
  const CodePtr code;
  const int32_t pc;  // the instruction that raised, or called what did
  DictVariable* const globals;
};

}  // namespace armature
