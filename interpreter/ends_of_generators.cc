#include "interpreter/ends_of_generators.h"

#include <llvm/ADT/STLExtras.h>

#include <algorithm>
#include <stdexcept>

#include "core/text.h"
#include "interpreter/instruction_translator.h"
#include "variables/functions/functions.h"
#include "variables/lazy.h"
#include "variables/objects/traceback.h"
#include "variables/objects/weak_reference.h"
#include "variables/protocol/object_protocol.h"
#include "variables/tensors/tensor.h"
#include "variables/trailed.h"

namespace armature {

bool InstructionTranslator::hasGenerators() const {
  return !owned_.empty() || llvm::any_of(generators_, [](const GeneratorVariable* generator) {
    return generator->state != GeneratorVariable::State::Finished;
  });
}

namespace {

const Frame& frameOf(const GeneratorVariable* generator) {
  return *static_cast<const SuspendedGenerator*>(generator->frame.get())->frame;
}

// Entries of the frame's slots that are its own. A call of a Python function gives it its
// arguments, so that they are the callee's alone.
size_t ownSlots(const Frame& frame, const Frame* inner) {
  size_t count = frame.localCount + frame.depth;
  bool gives = inner && inner->pushedByInstruction && frame.instruction().opcode == Opcode::CALL;
  return gives ? count - inner->operandCount : count;
}

}  // namespace

PathToObject ReachedObjects::pathTo(VariableTracker* tracker) const {
  PathToObject path;
  for (;;) {
    path.objects.push_back(tracker);
    const Origin& origin = origins.find(tracker)->second;
    if (!origin.from) {
      path.frame = origin.frame;
      path.slot = origin.slot;
      path.effect = origin.effect;
      break;
    }
    tracker = origin.from;
  }
  std::reverse(path.objects.begin(), path.objects.end());
  return path;
}

VariableTracker* InstructionTranslator::newObject(const Value& value) const {
  if (!value.isTracker()) return nullptr;
  VariableTracker* tracker = value.tracker();
  if (auto* lazy = llvm::dyn_cast<LazyVariable>(tracker)) return newObject(lazy->realized);
  bool isNew = !tracker->source() && !tracker->existing() && !llvm::isa<TensorVariable>(tracker);
  return isNew || owned_.count(tracker) ? tracker : nullptr;
}

void InstructionTranslator::visitParts(VariableTracker* tracker, const Frame* leaving,
                                       PartVisitor visit) {
  using State = GeneratorVariable::State;
  if (llvm::isa<NewWeakReferenceVariable>(tracker)) return;  // which holds nothing
  if (auto* generator = llvm::dyn_cast<GeneratorVariable>(tracker)) {
    visit(generator->returned);
    if (generator->state != State::Created && generator->state != State::Suspended) return;
    const Frame& frame = frameOf(generator);
    for (int32_t i = 0; i < frame.localCount + frame.depth; ++i) visit(frame.slots[i]);
    visit(frame.handled);
    visit(Value(frame.function));
    return;
  }
  if (auto owned = owned_.find(tracker); owned != owned_.end()) {
    for (const Value& part : owned->second) visit(part);
    return;
  }
  // Where a traceback shows it, its variables outlive it.
  if (leaving && leaving->traced == tracker) {
    for (int32_t i = 0; i < leaving->localCount; ++i) visit(leaving->slots[i]);
  }
  parts_->ofObject(*this, tracker, visit);
}

void InstructionTranslator::forEachPart(VariableTracker* tracker, PartVisitor visit) {
  if (!parts_) throw std::logic_error("a trace that knows no parts: " + describe(tracker));
  if (auto* made = llvm::dyn_cast<NewWeakReferenceVariable>(tracker)) visit(made->referent);
  visitParts(tracker, nullptr, visit);
}

// Some of what the running frame reaches, or its caller where it is leaving: mostly, a generator
// that has gone elsewhere has not gone far.
ReachedObjects InstructionTranslator::nearObjects(const Frame* leaving) {
  constexpr size_t kMost = 64;
  ReachedObjects reached;
  const Frame* frame = leaving ? leaving->back : frame_;
  size_t count = frame ? ownSlots(*frame, leaving) : 0;
  for (size_t i = count; i > 0; --i) {
    reached.reach(newObject(frame->slots[i - 1]), {nullptr, frame, i - 1});
  }
  for (size_t i = 0; i < reached.pending.size() && reached.pending.size() < kMost; ++i) {
    VariableTracker* tracker = reached.pending[i];
    visitParts(tracker, leaving,
               [&](const Value& part) { reached.reach(newObject(part), {tracker}); });
  }
  return reached;
}

ReachedObjects InstructionTranslator::reachedObjects(const Frame* leaving, const Value& result) {
  ReachedObjects reached;
  auto reach = [&](const Value& value, const ReachedObjects::Origin& origin) {
    reached.reach(newObject(value), origin);
  };
  const Frame* inner = nullptr;
  for (const Frame* frame = frame_; frame; inner = frame, frame = frame->back) {
    size_t count = frame == leaving ? 0 : ownSlots(*frame, inner);
    for (size_t i = 0; i < count; ++i) reach(frame->slots[i], {nullptr, frame, i});
    for (const Value& value :
         {frame->handled, frame->handledBefore, Value(frame->function), frame->contextExit}) {
      reach(value, {});
    }
    for (const Continuation& continuation : frame->continuations) {
      for (const Value& operand : continuation.operands) reach(operand, {});
    }
  }
  for (const Value& value : {result, handled_, exception()}) reach(value, {});
  for (int32_t i = 0; i < effects.size(); ++i) {
    if (effects[i].kind == EffectKind::Cancelled) continue;
    parts_->ofEffect(*this, effects[i], [&](const Value& value) {
      reach(value, {nullptr, nullptr, 0, i});
    });
  }
  while (!reached.pending.empty()) {
    VariableTracker* tracker = reached.pending.back();
    reached.pending.pop_back();
    visitParts(tracker, leaving, [&](const Value& part) { reach(part, {tracker}); });
  }
  return reached;
}

// Does the program still reach the object in this way?
bool InstructionTranslator::stands(const PathToObject& path, const Frame* leaving,
                                   FrameSearch& search) {
  if (path.objects.empty() || (path.frame && path.frame == leaving)) return false;
  bool begins = false;
  auto isFirst = [&](const Value& value) { begins |= newObject(value) == path.objects.front(); };
  if (path.frame) {
    const Frame* inner = nullptr;
    bool isRunning = search.find(path.frame, inner);
    if (isRunning && path.slot < ownSlots(*path.frame, inner)) {
      isFirst(path.frame->slots[path.slot]);
    }
  } else if (path.effect >= 0 && path.effect < effects.size() &&
             effects[path.effect].kind != EffectKind::Cancelled) {
    parts_->ofEffect(*this, effects[path.effect], isFirst);
  }
  return begins && leads(path, leaving);
}

// Does each object of the path still have the next one?
bool InstructionTranslator::leads(const PathToObject& path, const Frame* leaving) {
  bool leads = true;
  for (size_t i = 1; leads && i < path.objects.size(); ++i) {
    leads = false;
    visitParts(path.objects[i - 1], leaving,
               [&](const Value& part) { leads |= newObject(part) == path.objects[i]; });
  }
  return leads;
}

// Was it, before the instruction, what an operand leads to? As those are held until the instruction
// is done, it ends behind all code that this ran.
bool InstructionTranslator::wasHeldByOperand(const PathToObject& path) {
  return !path.objects.empty() && path.frame == frame_ &&
         path.slot >= static_cast<size_t>(frame_->localCount) && leads(path, nullptr);
}

// The one generator of those lost that dies first; the others then die with it, if they do. Null
// if that is not known: there are several, or they are in a cycle, which waits for the collector.
GeneratorVariable* InstructionTranslator::firstToEnd(llvm::ArrayRef<GeneratorVariable*> lost,
                                                     const ReachedObjects& reached,
                                                     const Frame* leaving) {
  llvm::DenseMap<VariableTracker*, llvm::SmallVector<VariableTracker*, 2>> holders;
  for (VariableTracker* tracker : arena.trackers()) {
    if (!tracker || !newObject(tracker) || reached.contains(tracker)) continue;
    visitParts(tracker, leaving, [&](const Value& part) {
      VariableTracker* held = newObject(part);
      if (held && !reached.contains(held)) holders[held].push_back(tracker);
    });
  }
  // Everything that leads to one: depth first, where an object met again on its way is a cycle.
  GeneratorVariable* first = nullptr;
  for (GeneratorVariable* generator : lost) {
    enum class Mark : uint8_t { Entered, Left };
    llvm::DenseMap<VariableTracker*, Mark> marks;
    std::vector<std::pair<VariableTracker*, size_t>> way{{generator, 0}};
    marks[generator] = Mark::Entered;
    bool isHeld = false;
    while (!way.empty()) {
      auto& [tracker, next] = way.back();
      auto found = holders.find(tracker);
      if (found == holders.end() || next == found->second.size()) {
        marks[tracker] = Mark::Left;
        way.pop_back();
        continue;
      }
      VariableTracker* holder = found->second[next++];
      auto [mark, isNew] = marks.try_emplace(holder, Mark::Entered);
      if (!isNew && mark->second == Mark::Entered) return nullptr;
      if (!isNew) continue;
      isHeld |= llvm::is_contained(lost, holder);
      way.emplace_back(holder, 0);
    }
    if (isHeld) continue;
    if (first) return nullptr;
    first = generator;
  }
  return first;
}

// Is the frame still there to which a break takes the trace back?
bool InstructionTranslator::isMarkRunning() const {
  const Frame* frame = frame_;
  while (frame && frame != mark_.frame) frame = frame->back;
  return frame;
}

// The instruction that drops the generator is Python's. Where the trace cannot go back to before
// it, no code is made of the trace: see leavesCleanUp.
void InstructionTranslator::leaveEndToPython(GeneratorVariable* generator) {
  if (isMarkRunning() && (mark_.hasSlots || frame_ != mark_.frame)) {
    throw GraphBreak(GraphBreakKind::EndOfObject,
                     "generator " + printable(frameOf(generator).code->qualifiedName));
  }
  llvm::erase_value(cleanUps_, generator);
  if (owned_.count(generator)) generators_.push_back(generator);
}

// What is over has nothing left to clean up: a loop does not ask after the generators of its turns.
void InstructionTranslator::forgetFinished() {
  auto isFinished = [](const GeneratorVariable* generator) {
    return generator->state == GeneratorVariable::State::Finished;
  };
  if (llvm::none_of(cleanUps_, isFinished)) return;
  for (GeneratorVariable* generator : cleanUps_) {
    if (isFinished(generator))
      recordUndo(trail, [this, generator] { cleanUps_.push_back(generator); });
  }
  llvm::erase_if(cleanUps_, isFinished);
}

KeepingInstruction InstructionTranslator::keepingInstruction() const {
  const Frame& frame = *frame_;
  const Instruction& instruction = frame.instruction();
  KeepingInstruction result{&frame, frame.pc + 1, effects.changeCount()};
  auto operand = [&](int32_t n) -> const Value& {
    return frame.slots[frame.localCount + frame.depth - n];
  };
  // An operand that a local variable holds, too, stays where it is.
  auto isKept = [&](int32_t n) {
    const Value& value = operand(n);
    if (!newObject(value)) return true;
    llvm::ArrayRef<Value> locals(frame.slots.data(), frame.localCount);
    return llvm::any_of(locals, [&](const Value& local) { return local.sameAs(value); });
  };
  switch (instruction.opcode) {
    case Opcode::NOP:
    case Opcode::RESUME:
    case Opcode::PUSH_NULL:
    case Opcode::LOAD_CONST:
    case Opcode::LOAD_FAST:
    case Opcode::LOAD_CLOSURE:
    case Opcode::LOAD_DEREF:
    case Opcode::LOAD_GLOBAL:
    case Opcode::COPY:
    case Opcode::SWAP:
    case Opcode::BUILD_TUPLE:
    case Opcode::BUILD_LIST:
    case Opcode::MAKE_FUNCTION:
      return result;
    case Opcode::STORE_FAST:
      return newObject(frame.slots[instruction.argument]) ? KeepingInstruction() : result;
    case Opcode::POP_TOP:
    case Opcode::LOAD_ATTR:
    case Opcode::LOAD_METHOD:
      return isKept(1) ? result : KeepingInstruction();
    case Opcode::IS_OP:
    case Opcode::COMPARE_OP:
    case Opcode::CONTAINS_OP:
    case Opcode::BINARY_SUBSCR:
      return isKept(1) && isKept(2) ? result : KeepingInstruction();
    case Opcode::POP_JUMP_IF_TRUE:
    case Opcode::POP_JUMP_IF_FALSE: {
      const Value& condition = operand(1);
      bool isTrue = condition.is(Py_True);
      if (!isTrue && !condition.is(Py_False)) return {};
      bool jumps = isTrue == (instruction.opcode == Opcode::POP_JUMP_IF_TRUE);
      if (jumps) result.next = instruction.argument;
      return result;
    }
    // What they do to existing objects is a change; others may lose what they held.
    case Opcode::BINARY_OP:
    case Opcode::UNARY_NEGATIVE:
    case Opcode::UNARY_NOT:
    case Opcode::BUILD_SLICE:
    case Opcode::BUILD_STRING:
    case Opcode::FORMAT_VALUE:
    case Opcode::GET_ITER:
    case Opcode::FOR_ITER:
    case Opcode::CALL: {
      Operands operands = operandsOf(instruction);
      for (int32_t n = operands.taken + operands.borrowed; n > 0; --n) {
        if (newObject(operand(n))) return {};
      }
      return result;
    }
    default:
      return {};
  }
}

void InstructionTranslator::endGenerators(bool ranCode, const Frame* leaving, const Value& result) {
  if (!parts_) return;
  forgetFinished();
  auto mayReach = [](GeneratorVariable*) { return true; };
  for (bool hasClosed = false;; hasClosed = true) {
    llvm::SmallVector<GeneratorVariable*, 4> unknown;
    FrameSearch search(frame_);
    // The last is the innermost frame's, mostly.
    for (GeneratorVariable* generator : llvm::reverse(cleanUps_)) {
      if (generator->state == GeneratorVariable::State::Running) continue;
      // Code of C that runs this code may hold what is older than that.
      if (generator->serial() < runStart_) continue;
      // One that is not begun needs no end yet, but the way to it is known when it does.
      bool isCreated = generator->state == GeneratorVariable::State::Created;
      if ((isCreated || hasCleanUp(generator, mayReach)) &&
          !stands(paths_[generator], leaving, search)) {
        unknown.push_back(generator);
      }
    }
    if (unknown.empty()) return;
    ReachedObjects near = nearObjects(leaving);
    llvm::erase_if(unknown, [&](GeneratorVariable* generator) {
      if (!near.contains(generator)) return false;
      paths_[generator] = near.pathTo(generator);
      return true;
    });
    if (unknown.empty()) return;
    std::reverse(unknown.begin(), unknown.end());
    ReachedObjects reached = reachedObjects(leaving, result);
    auto isReached = [&](GeneratorVariable* generator) { return reached.contains(generator); };
    llvm::SmallVector<GeneratorVariable*, 4> lost, forgotten;
    for (GeneratorVariable* generator : unknown) {
      if (reached.contains(generator)) {
        paths_[generator] = reached.pathTo(generator);
      } else if (hasCleanUp(generator, isReached)) {
        lost.push_back(generator);
      } else {
        forgotten.push_back(generator);
      }
    }
    for (GeneratorVariable* generator : forgotten) {
      recordUndo(trail, [this, generator] { cleanUps_.push_back(generator); });
      llvm::erase_value(cleanUps_, generator);
    }
    if (lost.empty()) return;
    GeneratorVariable* first = firstToEnd(lost, reached, leaving);
    // Of code that ran within the instruction nobody knows when it dropped what.
    bool isInOrder = first && !hasClosed && (!ranCode || wasHeldByOperand(paths_[first]));
    if (!isInOrder) return leaveEndToPython(lost.front());
    // What closes a generator may break. Where the trace cannot go back to before the instruction,
    // it goes back to behind it, and no code is made of it: see leavesCleanUp.
    bool canGoBack = isMarkRunning() && (mark_.hasSlots || frame_ != mark_.frame);
    if (!canGoBack && (leaving || !frame_->callersResumable)) return leaveEndToPython(first);
    if (!canGoBack) mark(*frame_, false);
    if (!closeGenerator(first)) {
      takeException();  // which Python prints
      return leaveEndToPython(first);
    }
  }
}

}  // namespace armature
