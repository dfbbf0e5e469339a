// How a trace ends at a graph break.
#include <algorithm>
#include <stdexcept>

#include "core/text.h"
#include "interpreter/instruction_translator.h"

namespace armature {

Outcome InstructionTranslator::breakAt(const GraphBreak& reason) {
  Outcome outcome;
  BreakReason& report = outcome.reason.emplace();
  const GraphBreakEntry& kind = entryOf(reason.kind());
  report.gbType = kind.gbType;
  report.context = reason.context();
  report.explanation = reason.explanation();
  report.hints = kind.hints();
  report.filename = printable(frame_->code->filename);
  report.function = printable(frame_->code->name);
  report.line = frame_->code->positions[frame_->pc].line;

  trail.rewind();
  setException(Value());
  handled_ = mark_.handled;
  runningGenerator_ = nullptr;
  raisedAgain_ = false;
  while (frame_ != mark_.frame) dropFrame();
  frame_->pc = mark_.pc;
  frame_->openHandlers = mark_.openHandlers;
  if (mark_.hasSnapshot) {
    frame_->slots = std::move(mark_.slots);
    frame_->depth = mark_.depth;
  } else if (frame_->depth != mark_.depth) {
    throw std::logic_error("an instruction broke when its operands were gone");
  }
  while (!mark_.operands.empty()) {
    auto& [slot, before] = mark_.operands.back();
    frame_->slots[slot] = std::move(before);
    mark_.operands.pop_back();
  }
  outcome.kind = mark_.hasSnapshot ? Outcome::Kind::ResumePlain : Outcome::Kind::Break;
  Value handled = handled_;
  for (Frame* frame = frame_; frame; frame = frame->back) {
    FrameState& state = outcome.frames.emplace_back(stateOf(*frame));
    state.openHandlers = frame->openHandlers;
    if (frame->openHandlers == 0) continue;
    state.handled = std::move(handled);
    handled = frame->handledBefore;
  }
  std::reverse(outcome.frames.begin(), outcome.frames.end());
  // Each caller is in the middle of the call that pushed the next frame.
  Frame* frame = frame_;
  for (size_t i = outcome.frames.size() - 1; i > 0; --i, frame = frame->back) {
    outcome.frames[i - 1].operandCount = frame->operandCount;
  }
  return outcome;
}

Outcome InstructionTranslator::translate() {
  try {
    leaveEndsToPython();
    Outcome outcome;
    outcome.result = run(frame_);
    clearUnlessInterrupted();
    return outcome;
  } catch (const GraphBreak& reason) {
    clearUnlessInterrupted();
    return breakAt(reason);
  }
}

}  // namespace armature
