// From the instruction that raised to the handler, past the frames that have none.
#include "interpreter/except_clauses.h"
#include "interpreter/instruction_translator.h"
#include "variables/containers/dict.h"
#include "variables/data_errors.h"
#include "variables/functions/builtin_handlers.h"
#include "variables/functions/stand_ins.h"
#include "variables/objects/context_manager.h"
#include "variables/objects/exception.h"
#include "variables/objects/traceback.h"
#include "variables/protocol/object_protocol.h"
#include "variables/trailed.h"

namespace armature {

const ExceptionRegion* InstructionTranslator::handlerOf(const Frame& frame) const {
  int32_t region = frame.code->regionOf[frame.pc];
  return region < 0 ? nullptr : &frame.code->regions[region];
}

namespace {

// The first exception handler of the program's, from the inside, that may keep an error from going
// on as it is, by `mayCatch(frame, handler)`. The clean-up after a handler is the compiler's own,
// and raises again what it was given. A `with` block hands the error to the __exit__ below its
// region's stack, which lets it pass if the manager is one that we model. From both, it goes to the
// handler around.
bool anyObserver(const Frame* innermost,
                 llvm::function_ref<bool(const Frame&, int32_t handler)> mayCatch) {
  for (const Frame* frame = innermost; frame; frame = frame->back) {
    const Code& code = *frame->code;
    for (int32_t next = code.regionOf[frame->pc]; next >= 0;) {
      const ExceptionRegion& region = code.regions[next];
      bool isHandler = code.instructions[region.target].opcode == Opcode::PUSH_EXC_INFO;
      bool isWith =
          isHandler && code.instructions[region.target + 1].opcode == Opcode::WITH_EXCEPT_START;
      size_t exit = frame->localCount + region.depth - 1;
      bool isModelled = isWith && trackerOf<ContextExitVariable>(frame->slots[exit]);
      if (isHandler && !isModelled && mayCatch(*frame, region.target)) return true;
      next = code.regionOf[region.target];
    }
  }
  return false;
}

}  // namespace

bool InstructionTranslator::errorsAreObserved() const {
  return anyObserver(frame_, [](const Frame&, int32_t) { return true; });
}

namespace {

bool areObservedOnData(Translator& translator, const Node& node) {
  const Frame* innermost = static_cast<InstructionTranslator&>(translator).runningFrame();
  return anyObserver(innermost, [&](const Frame& frame, int32_t handler) {
    return !passesClauses(translator, frame, handler,
                          [&](PyObject* error) { return mayRaiseOnData(node, error); });
  });
}

void registerObserver() { registerDataErrorsAreObserved(areObservedOnData); }
ARMATURE_REGISTER_HANDLERS(registerObserver);

}  // namespace

bool InstructionTranslator::anyHandler(const Frame* raisedIn) {
  for (const Frame* frame = raisedIn; frame; frame = frame->back) {
    if (handlerOf(*frame)) return true;
    if (!frame->pushedByInstruction) return false;
    for (const Continuation& continuation : frame->continuations) {
      if (catches(*this, continuation)) return true;
    }
  }
  return false;
}

void InstructionTranslator::addTraceback(ExceptionVariable& raised, Frame& frame) {
  if (isOfStandIns(frame.globals->existing())) return;
  if (!frame.traced) {
    frame.traced = make<TracedFrameVariable>(frame.code, frame.pc, frame.globals, frame.generator);
  }
  Value before = tracebackOf(*this, raised);
  if (!raised.tracebackWhenRaised) raised.tracebackWhenRaised = before;
  auto* entry = make<TracebackVariable>(std::move(before), frame.traced, frame.pc);
  setTraceback(*this, raised, Value(entry));
}

Value InstructionTranslator::handledInTrace() const {
  Value handled = handled_;
  for (const Frame* frame = runningGenerator_; frame && !handled; frame = frame->outerGenerator) {
    handled = frame->handled;
  }
  return handled;
}

Value InstructionTranslator::handledByCaller() {
  Ref<> handled = Ref<>::steal(PyErr_GetHandledException());
  const Source* source = sources->handledException();
  addGuard(source, handled ? GuardType::NOT_NONE_MATCH : GuardType::NONE_MATCH);
  return handled ? wrap(source, handled) : Value::none();
}

bool InstructionTranslator::enterHandler(Frame& frame) {
  const ExceptionRegion* region = handlerOf(frame);
  if (!region) return false;
  if (auto* raised = trackerOf<ExceptionVariable>(exception())) {
    settleContext(*this, *raised);
    raised->tracebackWhenRaised.reset();
  }
  int32_t lasti = lastInstruction(frame);
  frame.drop(frame.depth - region->depth);
  if (region->pushLasti) frame.push(Value::integer(lasti));
  frame.push(takeException());
  frame.pc = region->target;
  return true;
}

bool InstructionTranslator::unwind(Frame* entry, Frame* raisedIn) {
  setException(realized(exception()));
  bool again = std::exchange(raisedAgain_, false);
  bool isRoot = !entry->back;
  auto leaveRoot = [&] {
    std::string message;
    if (auto* raised = trackerOf<ExceptionVariable>(exception())) {
      message = raised->type()->tp_name;
      if (!raised->arguments.empty() && raised->arguments[0].isConstant()) {
        message += ": " + describe(raised->arguments[0]);
      }
    }
    throw GraphBreak(GraphBreakKind::ObservedException, message);
  };
  if (isRoot && !anyHandler(raisedIn)) leaveRoot();
  // The frames stay until it is known where the exception goes: whatever breaks on its way takes
  // the trace back to the instruction that raised.
  auto popTo = [&](const Frame* frame) {
    while (frame_ != frame) popFrame();
  };
  for (Frame* frame = raisedIn;; frame = frame->back) {
    Value pending = exception();
    auto* raised = trackerOf<ExceptionVariable>(pending);
    if (raised && !again) addTraceback(*raised, *frame);
    again = false;
    if (handlerOf(*frame)) {
      popTo(frame);
      return enterHandler(*frame);
    }
    if (!raised) throw GraphBreak(GraphBreakKind::ExistingException, describe(pending));
    if (frame == entry && isRoot) leaveRoot();
    if (frame->generator) finish(*frame, Value());
    if (frame == entry) {
      popTo(frame);
      popFrame();
      return false;
    }
    Value result;
    for (const Continuation& continuation : frame->continuations) {
      result = continueWith(*this, continuation, std::move(result));
    }
    if (!result && exceptionPending()) {
      setException(realized(exception()));
      continue;
    }
    popTo(frame->back);
    return complete(std::move(result));
  }
}

}  // namespace armature
