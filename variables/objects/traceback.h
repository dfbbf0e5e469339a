// Traceback objects of exceptions that the trace raised.
#pragma once

#include <vector>

#include "bytecode/code.h"
#include "variables/containers/dict.h"
#include "variables/functions/functions.h"
#include "variables/variable_tracker.h"

namespace armature {

// A frame as the tracebacks of the exceptions that passed it show it. Whether the frame still runs
// does not matter: it never was a real one.
class TracedFrameVariable : public VariableTracker {
 public:
  ARMATURE_KIND(TracedFrame)
  TracedFrameVariable(CodePtr code, int32_t pc, DictVariable* globals,
                      GeneratorVariable* generator = nullptr)
      : VariableTracker(VariableKind::TracedFrame, &PyFrame_Type),
        code(std::move(code)),
        globals(globals),
        generator(generator),
        pc(pc) {}

  const CodePtr code;
  DictVariable* const globals;
  GeneratorVariable* const generator;  // whose frame it is; null: a function's
  int32_t pc;  // the instruction that it has come to, at its end the last one. Trailed.
  // Once it has ended: what its local variables were, which it keeps alive. Trailed.
  std::vector<Value> locals;
};

// One frame that an exception has passed. Nothing of it changes.
class TracebackVariable : public VariableTracker {
 public:
  ARMATURE_KIND(Traceback)
  TracebackVariable(Value next, TracedFrameVariable* frame, int32_t pc)
      : VariableTracker(VariableKind::Traceback, &PyTraceBack_Type),
        next(std::move(next)),
        frame(frame),
        pc(pc) {}

  const Position& position() const { return frame->code->positions[pc]; }

  const Value next;  // tb_next: the frame that was called; null if there is none
  TracedFrameVariable* const frame;
  const int32_t pc;  // the instruction that raised, or called what did
};

}  // namespace armature
