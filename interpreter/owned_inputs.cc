// Inputs to which nothing but the frame has a reference any more.
#include "bytecode/liveness.h"
#include "interpreter/instruction_translator.h"
#include "variables/containers/dict.h"
#include "variables/ends_of_objects.h"
#include "variables/kind_slots.h"
#include "variables/lazy.h"
#include "variables/protocol/object_protocol.h"

namespace armature {

namespace {

// Null if the trace does not see it.
Value partOf(Translator& translator, const Value& object, const PartStep& step) {
  if (step.attribute) {
    InstanceDictFunction dictOf = slotsOf(object).instanceDict;
    DictVariable* dict = dictOf ? dictOf(translator, object) : nullptr;
    return dict ? dict->get(translator, step.attribute) : Value();
  }
  if (step.slot < 0) {
    auto* method = trackerOf<BoundMethodVariable>(object);
    return method ? method->self : Value();
  }
  auto* generator = trackerOf<GeneratorVariable>(object);
  if (!generator || !generator->frame) return Value();
  const Frame& frame = *static_cast<SuspendedGenerator*>(generator->frame.get())->frame;
  return frame.slots[step.slot];
}

}  // namespace

// From now on the objects on the way count as ones that the trace has made, and die like those:
// when no slot of the frame has them any more, so that each is known for what it is.
bool InstructionTranslator::own(const Value& input, const PartPath& path) {
  Value object = realized(input);
  for (size_t i = 0; object.isTracker(); ++i) {
    llvm::SmallVector<Value, 1>& parts = owned_[object.tracker()];
    for (int32_t slot = 0; slot < frame_->localCount + frame_->depth; ++slot) {
      const Value& held = frame_->slots[slot];
      bool isTheSame =
          held.isTracker() && held.tracker()->existing() == object.tracker()->existing();
      if (isTheSame) realized(held);
    }
    auto* generator = trackerOf<GeneratorVariable>(object);
    if (i == path.size()) {
      if (!generator || generator->state == GeneratorVariable::State::Running) return false;
      cleanUps_.push_back(generator);
      return true;
    }
    Value part = partOf(*this, object, path[i]);
    if (!part) return false;
    // Those of generators are the slots of their frames.
    if (!generator) parts.push_back(part);
    object = realized(std::move(part));
  }
  return false;
}

// Is what keeps the trace away on the stack, and does the instruction take it that comes next, past
// some that only load? (`asyncio.run(main())`, where Python has called `main`.) Then Python runs
// these instructions, and not the frame.
bool InstructionTranslator::isTakenAtOnce(llvm::ArrayRef<Value> slots) {
  constexpr int32_t kMostLoads = 8;
  const Code& code = *entry_.code;
  int32_t loaded = 0, pc = frame_->pc;
  Operands operands = operandsOf(code.instructions[pc]);
  for (; operands.taken <= loaded; operands = operandsOf(code.instructions[++pc])) {
    Opcode opcode = code.instructions[pc].opcode;
    bool onlyLoads = operands.taken == 0 && operands.borrowed == 0 && operands.left > 0;
    if (!onlyLoads || isJump(opcode) || isTerminator(opcode)) return false;
    loaded += operands.left;
    if (loaded > kMostLoads) return false;
  }
  int32_t left = frame_->depth - (operands.taken - loaded);
  if (left < 0 || isJump(code.instructions[pc].opcode)) return false;
  std::vector<Value> mayGo(slots.begin() + frame_->localCount,
                           slots.begin() + frame_->localCount + left);
  llvm::BitVector rebound = reboundFrom(code, entry_.start);
  for (int local : rebound.set_bits()) mayGo.push_back(slots[local]);
  std::vector<OwningInput> owning;
  return inputsEndSilently(*this, mayGo, owning) && owning.empty();
}

namespace {

// What somebody has looked at is two values.
Value lookedAt(const Value& value) {
  auto* lazy = value.isTracker() ? llvm::dyn_cast<LazyVariable>(value.tracker()) : nullptr;
  return lazy && lazy->realized ? lazy->realized : value;
}

bool holds(const FrameState& frame, bool isCaller, const Value& value) {
  auto isIt = [&](const Value& held) { return lookedAt(held).sameAs(lookedAt(value)); };
  // The others are the called frame's, which may have let go of them.
  size_t own = frame.stack.size() - (isCaller ? frame.operandCount : 0);
  return llvm::any_of(frame.locals, isIt) ||
         llvm::any_of(llvm::ArrayRef<Value>(frame.stack).take_front(own), isIt);
}

}  // namespace

void InstructionTranslator::settleInputs(const Outcome& outcome) {
  if (outcome.kind == Outcome::Kind::SkipFrame) return;
  for (const MayEnd& one : mayEnd_) {
    size_t number = 0;
    bool isHeld = llvm::any_of(outcome.frames, [&](const FrameState& frame) {
      return holds(frame, ++number < outcome.frames.size(), one.input);
    });
    if (isHeld) continue;
    if (!endsSilently(*this, one)) throw EndIsHeard();
  }
}

// The objects that a trace makes, and its frames, do not die one by one. So where code of the
// program may hear of the end of an input before the frame's own, Python runs the frame; but for
// generators, which the trace looks after (ends_of_generators.h). What the frame still has when the
// trace ends, at a break, has not ended: that is looked at then, unless it was and has not.
void InstructionTranslator::leaveEndsToPython() {
  if (!entry_.movesInputs) return;
  std::vector<Value> slots(frame_->slots.begin(),
                           frame_->slots.begin() + frame_->localCount + frame_->depth);
  std::vector<Value> mayGo(slots.begin() + frame_->localCount, slots.end());
  llvm::BitVector rebound = reboundFrom(*entry_.code, entry_.start);
  for (int local = rebound.find_first(); local >= 0; local = rebound.find_next(local)) {
    mayGo.push_back(slots[local]);
  }
  std::vector<OwningInput> owning;
  bool atOnce = looseValues.areSettledAtOnce();
  bool isSilent = inputsEndSilently(*this, mayGo, owning, atOnce ? nullptr : &mayEnd_) &&
                  (owning.empty() || parts_);
  for (const OwningInput& one : owning) {
    for (const PartPath& path : one.paths) isSilent = isSilent && own(one.input, path);
  }
  if (isSilent) return;
  // With the guard.
  mark(*frame_, !isTakenAtOnce(slots));
  throw GraphBreak(GraphBreakKind::EndOfObject);
}

}  // namespace armature
