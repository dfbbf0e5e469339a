// How a trace ends at a graph break.
#include <llvm/ADT/DenseSet.h>

#include <algorithm>
#include <stdexcept>

#include "core/text.h"
#include "interpreter/instruction_translator.h"
#include "variables/containers/dict.h"
#include "variables/functions/cached_function.h"
#include "variables/library.h"
#include "variables/objects/exception.h"
#include "variables/tensors/tensor.h"
#include "variables/trace_again.h"

namespace armature {

namespace {

int32_t lineOf(const Frame& frame) { return frame.code->positions[frame.pc].line; }

}  // namespace

BreakReason InstructionTranslator::describeBreak(const GraphBreak& reason) const {
  if (auto* call = dynamic_cast<const SkippedCall*>(&reason); call && call->reason()) {
    return *call->reason();
  }
  BreakReason report;
  const GraphBreakEntry& kind = entryOf(reason.kind());
  report.kind = reason.kind();
  report.gbType = kind.gbType;
  report.context = reason.context();
  report.explanation = reason.explanation();
  report.hints = kind.hints();
  report.filename = printable(frame_->code->filename);
  report.function = printable(frame_->code->name);
  report.line = lineOf(*frame_);
  for (const Frame* frame = frame_; frame; frame = frame->back) {
    report.stack.push_back({frame->code->filename, frame->code->name, lineOf(*frame)});
  }
  std::reverse(report.stack.begin(), report.stack.end());
  return report;
}

void InstructionTranslator::refuseSkipped(const UserFunctionVariable& function) const {
  if (!skipped_) return;
  const SkippedFunction* skipped = skipped_->find(*function.code);
  bool isOfModule = skipped_->modules && skipped_->modules->contains(function.globals->existing());
  if (skipped || isOfModule) {
    throw SkippedCall(printable(function.code->qualifiedName), skipped);
  }
}

// The outermost of the frames that nobody can go on in, as they are captured whole or not at all.
// One of a generator that existed runs although its code is skipped: there the trace breaks.
const Frame* InstructionTranslator::brokenWhole() const {
  const Frame* outermost = nullptr;
  if (!skipped_ || !skipped_->modules) return nullptr;
  for (const Frame* frame = mark_.frame; frame->back; frame = frame->back) {
    bool isWhole = skipped_->modules->areWhole(frame->globals->existing());
    if (isWhole && !skipped_->find(*frame->code)) outermost = frame;
  }
  return outermost;
}

std::vector<FramePlace> InstructionTranslator::placesOfFrames() const {
  std::vector<FramePlace> places;
  for (const Frame* frame = frame_; frame; frame = frame->back) {
    PyObject* globals = frame->globals->existing();
    if (!globals) globals = rootGlobals();
    places.push_back({frame->code, Ref<>::create(globals), frame->pc});
  }
  return places;
}

Outcome InstructionTranslator::breakAt(const GraphBreak& reason) {
  Outcome outcome;
  outcome.reason = describeBreak(reason);
  auto* cause = trackerOf<ExceptionVariable>(mark_.handled);
  outcome.raised =
      reason.kind() == GraphBreakKind::ObservedException || (cause && !cause->existing());
  outcome.breakIsError = errorOnGraphBreak();
  // A frame in which no break can be is run by C code, whose caller's instruction breaks.
  if (reason.kind() == GraphBreakKind::SkipFrameCall && frame_ == mark_.frame) {
    outcome.kind = Outcome::Kind::SkipFrame;
    if (frame_->back) outcome.skipped = frame_->code;
    return outcome;
  }

  if (!isMarkRunning()) throw std::logic_error("a break where no frame of the mark is left");

  // Behind an operation that has failed, everything before it is done.
  const Frame* whole = reason.kind() == GraphBreakKind::FailedOperation ? nullptr : brokenWhole();
  if (whole) {
    outcome.kind = Outcome::Kind::SkipFrame;
    outcome.skipped = whole->code;
    outcome.reason->explanation +=
        " Python runs the whole call of " + printable(whole->code->qualifiedName) + ".";
    return outcome;
  }

  // How deep Python may go, and what that costs, depends on where it began.
  if (reason.kind() == GraphBreakKind::RecursionLimit) {
    outcome.kind = Outcome::Kind::SkipFrame;
    outcome.reachedRecursionLimit = true;
    return outcome;
  }

  if (reason.kind() == GraphBreakKind::FailedOperation) {
    std::vector<FramePlace> places = placesOfFrames();
    outcome.leftInBody = std::move(placesAtFailureInBody_);
    outcome.leftInBody.resize(std::max(outcome.leftInBody.size(), places.size()) - places.size());
    if (!failureCanGoOn()) outcome.left = std::move(places);
  }

  trail.rewind();
  effects.countRewind();
  setException(Value());
  handled_ = mark_.handled;
  runningGenerator_ = nullptr;
  raisedAgain_ = false;
  outcome.framesAreRead = framesAreRead_;
  for (; frame_ != mark_.frame; dropFrame()) outcome.framesAreRead |= frame_->code->readsOwnFrame;
  frame_->pc = mark_.pc;
  frame_->openHandlers = mark_.openHandlers;
  if (mark_.hasSlots) {
    mark_.slots.resize(frame_->slots.size());
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
  if (auto* missed = dynamic_cast<const MissedCall*>(&reason)) addGuard(missed->guard());
  outcome.kind = mark_.isPlain ? Outcome::Kind::ResumePlain : Outcome::Kind::Break;
  Value handled = handled_;
  for (Frame* frame = frame_; frame; frame = frame->back) {
    FrameState& state = outcome.frames.emplace_back(stateOf(*frame));
    state.openHandlers = frame->openHandlers;
    state.continuations = frame->continuations;
    if (frame->openHandlers > 0) {
      state.handled = std::move(handled);
      handled = frame->handledBefore;
    }
    if (frame->generator) handled = frame->handled;
  }
  std::reverse(outcome.frames.begin(), outcome.frames.end());
  // Each caller is in the middle of the call that pushed the next frame.
  Frame* frame = frame_;
  for (size_t i = outcome.frames.size() - 1; i > 0; --i, frame = frame->back) {
    FrameState& caller = outcome.frames[i - 1];
    caller.operandCount = frame->operandCount;
    if (frame->contextExit) caller.stack.back() = frame->contextExit;
  }
  return outcome;
}

// That an operation raises shows when somebody asks for what it gives. What the program does behind
// it, where Python never comes, need not end.
void InstructionTranslator::checkOperations() {
  nextOperationCheck_ = 2 * instructionCount_;
  llvm::DenseSet<const Node*> arrays;
  for (VariableTracker* tracker : arena.trackers()) {
    if (auto* tensor = llvm::dyn_cast<TensorVariable>(tracker)) arrays.insert(tensor->node);
  }
  for (const auto& node : graph->nodes()) {
    if (!node->isCall() || node->metadata || !arrays.contains(node.get())) continue;
    try {
      if (findLibrary(node->library)->metadata(node.get(), *this)) continue;
    } catch (const GraphBreak&) {
      continue;  // only data tell
    }
    clearUnlessInterrupted();
    throw OperationFails{node->ordinal};
  }
}

Outcome InstructionTranslator::translate() {
  try {
    if (skipped_ && skipped_->modules && skipped_->modules->contains(rootGlobals_)) {
      GraphBreak reason(GraphBreakKind::SkippedFunction, printable(entry_.code->qualifiedName));
      Outcome outcome;
      outcome.kind = Outcome::Kind::SkipFrame;
      outcome.reason = describeBreak(reason);
      outcome.breakIsError = errorOnGraphBreak();
      return outcome;
    }
    leaveEndsToPython();
    Outcome outcome;
    outcome.result = run(frame_);
    outcome.breakIsError = errorOnGraphBreak();
    outcome.locals = std::move(leftLocals_);
    outcome.isSuspended = leftSuspended_;
    clearUnlessInterrupted();
    return outcome;
  } catch (const GraphBreak& reason) {
    clearUnlessInterrupted();
    return breakAt(reason);
  }
}

}  // namespace armature
