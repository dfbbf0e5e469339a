// How frames of the trace begin and end, and what is to be seen of them.
#include "interpreter/frame.h"

#include <llvm/ADT/ArrayRef.h>
#include <llvm/ADT/STLExtras.h>

#include "core/fault_injection.h"
#include "core/text.h"
#include "cpython/function_layout.h"
#include "interpreter/instruction_translator.h"
#include "variables/containers/dict.h"
#include "variables/lazy.h"
#include "variables/objects/traceback.h"
#include "variables/trailed.h"

namespace armature {

namespace {

// Entries that the stack of a frame may have. Traced code was always lifted from a code object; its
// own bound holds for the canonical form, in which PUSH_NULL stands apart.
size_t stackSize(const Code& code) { return code.original->co_stacksize + 1; }

// Is it one of a generator, left at a yield?
bool isSuspended(const Frame& frame) {
  return frame.generator && frame.generator->state == GeneratorVariable::State::Suspended;
}

// The generator may run again by now, asked for its next item by who took the last one.
bool hasEnded(const Frame& frame) {
  return !frame.generator || frame.generator->state == GeneratorVariable::State::Finished;
}

// Is it the constant, or in it?
bool isPartOf(PyObject* object, PyObject* constant) {
  if (object == constant) return true;
  if (!PyTuple_CheckExact(constant)) return false;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(constant); ++i) {
    if (isPartOf(object, PyTuple_GET_ITEM(constant, i))) return true;
  }
  return false;
}

}  // namespace

bool InstructionTranslator::isLiteral(PyObject* object) const {
  return llvm::any_of(walked_, [&](const auto& walked) {
    return llvm::any_of(walked.second->constants,
                        [&](const Ref<>& constant) { return isPartOf(object, constant.get()); });
  });
}

Frame* InstructionTranslator::pushFrame(CodePtr code, DictVariable* globals,
                                        UserFunctionVariable* function) {
  faultSite();
  callDepth.enter();
  std::unique_ptr<Frame> frame;
  if (freeFrames_) {
    frame.reset(std::exchange(freeFrames_, freeFrames_->back));
  } else {
    frame = std::make_unique<Frame>();
  }
  frame->localCount = static_cast<int32_t>(code->locals.size());
  frame->slots.resize(code->locals.size() + stackSize(*code));
  walked_.try_emplace(code.get(), code);
  frame->code = std::move(code);
  frame->globals = globals;
  frame->function = function;
  frame->back = frame_;
  frame->pc = 0;
  frame->depth = 0;
  frame->pushedByInstruction = false;
  frame->operandCount = 0;
  frame->continuations.clear();
  frame->contextExit = Value();
  frame->callersResumable = false;
  frame->generator = nullptr;
  frame->outerGenerator = nullptr;
  frame->handled = Value();
  frame->traced = nullptr;
  frame->openHandlers = 0;
  frame->names = Value();
  frame_ = frame.release();
  return frame_;
}

int32_t lastInstruction(const Frame& frame) {
  const Instruction& instruction = frame.instruction();
  bool restores = instruction.opcode == Opcode::RERAISE && instruction.argument > 0;
  if (!restores) return frame.pc;
  size_t index = frame.localCount + frame.depth - (instruction.argument + 1);
  PyObject* lasti = frame.slots[index].objectOrNull();
  return lasti && PyLong_Check(lasti) ? static_cast<int32_t>(PyLong_AsLong(lasti)) : frame.pc;
}

void InstructionTranslator::popFrame() {
  const Frame& frame = *frame_;
  TracedFrameVariable* traced = frame.traced;
  // What a generator that is left at a yield holds, it holds until it goes on.
  if (traced && hasEnded(frame)) {
    assignTrailed(trail, traced->pc, lastInstruction(frame));
    recordUndo(trail, [traced] { traced->locals.clear(); });
    traced->locals.assign(frame.slots.begin(), frame.slots.begin() + frame.localCount);
  }
  dropFrame();
}

void InstructionTranslator::dropFrame() {
  Frame* frame = frame_;
  frame_ = frame->back;
  callDepth.leave();
  frame->slots.clear();
  frame->code.reset();
  frame->handled = Value();
  frame->handledBefore = Value();
  frame->continuations.clear();
  frame->contextExit = Value();
  frame->back = freeFrames_;
  freeFrames_ = frame;
}

PyObject* InstructionTranslator::chosenBuiltins(const Frame& frame) const {
  if (!frame.function) return entry_.builtins;
  PyObject* existing = frame.function->existing();
  return existing ? cpython::read(existing, cpython::FunctionField::Builtins) : nullptr;
}

FrameState InstructionTranslator::stateOf(const Frame& frame) const {
  FrameState state;
  state.code = frame.code;
  state.globals = frame.globals;
  state.function = frame.function;
  state.builtins = chosenBuiltins(frame);
  state.traced = frame.traced;
  state.generator = frame.generator;
  state.pc = frame.pc;
  state.locals.assign(frame.slots.begin(), frame.slots.begin() + frame.localCount);
  state.stack.assign(frame.slots.begin() + frame.localCount,
                     frame.slots.begin() + frame.localCount + frame.depth);
  return state;
}

Value InstructionTranslator::leaveEntry(Value result) {
  const Frame& frame = *frame_;
  if (!entry_.isFunctionStart() && !frame.back) {
    leftSuspended_ = entry_.isShown && isSuspended(frame);
    if (!leftSuspended_) {
      leftLocals_.assign(frame.slots.begin(), frame.slots.begin() + frame.localCount);
    }
  }
  popFrame();
  return result;
}

void InstructionTranslator::succeed(size_t done) {
  Frame* next = std::exchange(frame_, frame_->back);
  const Frame& returned = *frame_;
  next->continuations.append(returned.continuations.begin() + done, returned.continuations.end());
  next->operandCount = returned.operandCount;
  next->contextExit = returned.contextExit;
  popFrame();
  next->back = frame_;
  frame_ = next;
}

bool InstructionTranslator::returnToCaller(Value result) {
  const Frame& frame = *frame_;
  // With the frame still there: a break in what is left to do is one where it returns, unless that
  // pushes a frame again, in which breaks are its own.
  for (size_t i = 0; i < frame.continuations.size(); ++i) {
    result = continueWith(*this, frame.continuations[i], std::move(result), true);
    if (!result.isFramePushed()) continue;
    succeed(i + 1);
    return true;
  }
  if (!result && exceptionPending()) return false;
  Value exit = frame.contextExit;
  popFrame();
  if (exit) frame_->peek(1) = std::move(exit);
  return complete(std::move(result));
}

ProgramLocation InstructionTranslator::location() const {
  ProgramLocation location;
  location.code = frame_->code->original.get();
  location.line = frame_->code->positions[frame_->pc].line;
  return location;
}

Value InstructionTranslator::runningFirstArgument() {
  if (frame_->code->argumentCount == 0) return Value();
  const Value& first = frame_->locals()[0];
  if (auto* cell = trackerOf<NewCellVariable>(first);
      cell && frame_->code->locals[0].kind == LocalKind::Cell) {
    return cell->read(*this);
  }
  return first;
}

bool InstructionTranslator::isHeldByFrames(const Value& object) {
  if (!object.isTracker()) return false;
  PyObject* existing = object.tracker()->existing();
  auto mayBeIt = [&](const Value& held) {
    return held.isTracker() &&
           (held.sameAs(object) || (existing && held.tracker()->existing() == existing));
  };
  // Once both are looked at, that they are one object is guarded.
  auto holdsIt = [&](const Value& slot) {
    auto* cell = trackerOf<NewCellVariable>(slot);
    if (!mayBeIt(cell ? cell->contents() : slot)) return false;
    return realized(cell ? cell->read(*this) : slot).sameAs(realized(object));
  };
  for (Frame* frame = frame_; frame; frame = frame->back) {
    auto slots = llvm::ArrayRef(frame->slots).take_front(frame->localCount + frame->depth);
    if (llvm::any_of(slots, holdsIt)) return true;
  }
  return false;
}

NewCellVariable* InstructionTranslator::runningClassCell() {
  int32_t cell = frame_->code->classCell();
  return cell < 0 ? nullptr : trackerOf<NewCellVariable>(frame_->locals()[cell]);
}

}  // namespace armature
