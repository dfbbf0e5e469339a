// What a graph break leaves in locals of the generated code, and what that lets go of there and
// where the function returns.
#include <llvm/ADT/DenseSet.h>

#include <utility>

#include "codegen/call_rewriting.h"
#include "codegen/ending_inputs.h"
#include "codegen/frame_code.h"
#include "codegen/py_codegen.h"
#include "codegen/reconstruct/reconstructor.h"
#include "core/constant.h"
#include "core/text.h"
#include "cpython/tracebacks.h"
#include "variables/constants/sym_node_variable.h"
#include "variables/functions/functions.h"
#include "variables/lazy.h"
#include "variables/objects/address.h"
#include "variables/objects/call_result.h"
#include "variables/objects/made_class.h"
#include "variables/objects/traceback.h"
#include "variables/objects/user_defined.h"
#include "variables/objects/weak_reference.h"
#include "variables/protocol/object_protocol.h"

namespace armature {

namespace {

// How many entries of a frame's stack its code still sees: what has become another frame's own is
// that frame's.
size_t keptOfStack(const FrameState& frame) {
  return frame.stack.size() - static_cast<size_t>(frame.operandCount);
}

}  // namespace

// As CPython calls a method that LOAD_METHOD has found: as a function of its object, which its
// errors tell (_PyObject_GetMethod).
void PyCodegen::unbindCalledMethod() {
  FrameState& frame = outcome_.frames.back();
  const Instruction& instruction = frame.code->instructions[frame.pc];
  if (instruction.opcode != Opcode::CALL) return;
  size_t callable = frame.stack.size() - instruction.argument - 1;
  auto* method = trackerOf<BoundMethodVariable>(frame.stack[callable]);
  if (!method || frame.stack[callable - 1]) return;
  PyTypeObject* type = typeOf(method->self);
  PyObject* function = method->function.objectOrNull();
  if (!function || type->tp_getattro != PyObject_GenericGetAttr) return;
  // A method of arrays goes by its name.
  if (PyUnicode_Check(function)) function = translator_.heap.lookup(type, function).object;
  if (!function || !Py_IS_TYPE(function, &PyMethodDescr_Type)) return;
  int32_t beginning = beginningOfCall(*frame.code, stackDepths(*frame.code, nullptr), frame.pc);
  if (beginning < 0 || frame.code->instructions[beginning].opcode != Opcode::LOAD_METHOD) return;
  frame.stack[callable - 1] = Value::constant(function);
  frame.stack[callable] = method->self;
}

// What the result, the stacks and the live locals refer to has to exist, and so do classes.
void PyCodegen::requireRoots() {
  for (UserClassVariable* made : translator_.madeClasses().standing()) plan_.require(Value(made));
  plan_.require(outcome_.result);
  for (const FrameState& frame : outcome_.frames) {
    llvm::ArrayRef<Value> stack(frame.stack);
    for (const Value& value : stack.take_front(keptOfStack(frame))) {
      plan_.require(value);
    }
    plan_.require(frame.handled);
    if (frame.generator) plan_.require(Value(frame.generator));
    for (const Continuation& continuation : frame.continuations) {
      for (const Value& operand : continuation.operands) plan_.require(operand);
    }
    llvm::BitVector live = liveIn(frame);
    for (int i = live.find_first(); i >= 0; i = live.find_next(i)) plan_.require(frame.locals[i]);
  }
}

// Does a local that nothing reads any more keep something alive whose death can be seen, or lead to
// it? What has to exist for another reason; a weak reference, of which its referent tells; a
// generator that has begun; and what has come as an input, or in one, or in something that a global
// leads to, which may let go of it: the inputs of a resumption are nobody else's, and the arguments
// of a function, which are its caller's as it runs, are the frame's alone where an exception leaves
// with it.
bool PyCodegen::keepsAlive(const Value& value) {
  auto isSeen = [&](VariableTracker* tracker) {
    // What nobody has looked at may be anything in another call.
    auto* lazy = llvm::dyn_cast<LazyVariable>(tracker);
    if (lazy && isData(lazy->realized)) return false;
    if (tracker->source()) return true;
    if (auto* generator = llvm::dyn_cast<GeneratorVariable>(tracker)) {
      if (generator->state == GeneratorVariable::State::Suspended) return true;
    }
    Node* node = nodeThatGives(tracker);
    if (node && plan_.isOutput(node)) return true;
    return llvm::isa<NewWeakReferenceVariable>(tracker) || plan_.find(tracker) != nullptr;
  };
  llvm::DenseSet<VariableTracker*> seen;
  llvm::SmallVector<VariableTracker*, 8> pending;
  auto visit = [&](const Value& part) {
    if (part.isTracker() && seen.insert(part.tracker()).second) pending.push_back(part.tracker());
  };
  visit(value);
  while (!pending.empty()) {
    VariableTracker* tracker = pending.pop_back_val();
    if (isSeen(tracker)) return true;
    // The number of an object does not hold it; and what is in an object from outside is there.
    if (tracker->source() || tracker->existing() || llvm::isa<AddressVariable>(tracker)) continue;
    if (nodeThatGives(tracker) || translator_.owns(tracker)) continue;
    reconstructedParts().ofObject(translator_, tracker, visit);
  }
  return false;
}

// Has the frame to go on with a local that nothing reads any more? Where somebody looks at
// frame.f_locals, with each.
bool PyCodegen::staysBound(const Value& value) {
  return value && (outcome_.framesAreRead || keepsAlive(value));
}

void PyCodegen::requireHeldLocals() {
  struct DeadLocal {
    const Value& value;
    const FrameState* frame;
    bool isRequired = false;
  };
  std::vector<DeadLocal> dead;
  if (translator_.entry().isShown) {
    for (const Value& local : outcome_.locals) dead.push_back({local, nullptr});
  }
  for (const FrameState& frame : outcome_.frames) {
    llvm::BitVector live = liveIn(frame);
    for (size_t i = 0; i < frame.locals.size(); ++i) {
      if (!live.test(i)) dead.push_back({frame.locals[i], &frame});
    }
  }
  // A local variable that holds the frame, through a traceback, keeps the others for longer than it
  // runs.
  auto holdsFrame = [&](const DeadLocal& local) {
    TracedFrameVariable* traced = local.frame ? local.frame->traced : nullptr;
    return traced && leadsTo(translator_, local.value,
                             [&](const VariableTracker* part) { return part == traced; });
  };
  // What one of them keeps may be what another one leads to.
  for (bool isNew = true; isNew;) {
    isNew = false;
    for (DeadLocal& local : dead) {
      if (local.isRequired || (!staysBound(local.value) && !holdsFrame(local))) continue;
      local.isRequired = isNew = true;
      plan_.require(local.value);
    }
  }
}

// Of a value that one instruction loads: may the frame have the very local that it comes from? Once
// only, and if nobody but the generated code holds what is in it.
bool PyCodegen::takeOver(const Instruction& load) {
  if (load.opcode != Opcode::LOAD_FAST) return false;
  bool isInput = load.argument < inputCount_;
  return (!isInput || inputHolder_ >= 0) && takenOver_.insert(load.argument).second;
}

// Of a local of the generated code that a frame has: it has another one, behind all others,
// instead.
int32_t PyCodegen::moveBehind(int32_t local) {
  int32_t next = assembler_.addFreshLocal("local");
  assembler_.emit(Opcode::LOAD_FAST, local);
  // What was taken over may be loaded once more, and is released with the others then.
  if (!takenOver_.erase(local)) assembler_.emit(Opcode::DELETE_FAST, local);
  assembler_.emit(Opcode::STORE_FAST, next);
  return next;
}

// Puts the stack and the live locals of a frame into locals of the generated code.
void PyCodegen::storeFrame(const FrameState& frame, size_t index) {
  StoredFrame& stored = storedFrames_.emplace_back();
  auto store = [&](const Value& value, const char* name, bool mayTakeOver = true) {
    if (const ConstructionPlan::Part* part = plan_.find(value); part && part->isLate()) {
      lateStores_.emplace_back(value, assembler_.addFreshLocal(name));
      return lateStores_.back().second;
    }
    size_t before = assembler_.size();
    load(value);
    if (mayTakeOver && assembler_.size() == before + 1 && takeOver(assembler_.last())) {
      int32_t local = assembler_.last().argument;
      assembler_.dropLast();
      return local;
    }
    int32_t local = assembler_.addFreshLocal(name);
    assembler_.emit(Opcode::STORE_FAST, local);
    return local;
  };
  for (size_t i = 0; i < keptOfStack(frame); ++i) {
    stored.stack.push_back(frame.stack[i] ? store(frame.stack[i], "stack") : -1);
  }
  if (frame.handled) stored.handled = store(frame.handled, "handled");
  if (index == 0 && translator_.entry().isShown) {
    stored.shown = assembler_.addFreshLocal("frame");
    assembler_.emit(Opcode::LOAD_FAST, static_cast<int32_t>(translator_.entry().shownInput()));
    assembler_.emit(Opcode::STORE_FAST, stored.shown);
  }
  if (frame.generator) stored.generator = store(Value(frame.generator), "generator");
  if (frame.traced && plan_.find(frame.traced)) stored.traced = store(frame.traced, "traced");
  if (index + 1 < outcome_.frames.size()) {
    for (const Continuation& continuation : outcome_.frames[index + 1].continuations) {
      for (const Value& operand : continuation.operands) {
        stored.operands.push_back(store(operand, "operand"));
      }
    }
  }
  llvm::BitVector live = liveIn(frame);
  // Frames tell their locals in their order, and end them in it where an exception leaves. (Those
  // of an inner frame are handed to its code in that.)
  int32_t last = -1;
  for (size_t i = 0; i < frame.locals.size(); ++i) {
    const Value& value = frame.locals[i];
    if (!value) continue;
    auto local = static_cast<int32_t>(i);
    if (staysBound(value)) stored.held.insert(local);
    if (!live.test(i) && !stored.held.contains(local)) continue;
    const LocalVariable& variable = frame.code->locals[i];
    int32_t place = store(value, "local", variable.kind == LocalKind::Local);
    if (index == 0) {
      if (place < last) place = moveBehind(place);
      last = place;
      assembler_.show(place, variable);
    }
    stored.locals[local] = place;
  }
}

// Of a frame that is shown, when it returns: its frame object keeps what the local variables hold
// in the end, and nothing else. A generator's that is left at a yield keeps nothing, as the
// generator does; one that has ended does not keep its caller.
void PyCodegen::leaveLocals() {
  const EntryPoint& entry = translator_.entry();
  bool endsGenerator = entry.isGenerator && !outcome_.isSuspended;
  prepareCall(outcome_.isSuspended ? cpython::suspendFrameFunction()
              : endsGenerator      ? cpython::endGeneratorFrameFunction()
                                   : cpython::continueFrameFunction());
  assembler_.emit(Opcode::LOAD_FAST, static_cast<int32_t>(entry.shownInput()));
  auto callAndDrop = [&](int32_t argumentCount) {
    call(argumentCount);
    assembler_.emit(Opcode::POP_TOP);
  };
  if (!endsGenerator) callAndDrop(1);
  int32_t held = 0;
  for (size_t i = 0; i < outcome_.locals.size(); ++i) {
    if (!staysBound(outcome_.locals[i])) continue;
    load(outcome_.locals[i]);
    ++held;
    if (!endsGenerator) {
      int32_t local = assembler_.addShownLocal(entry.code->locals[i]);
      assembler_.emit(Opcode::STORE_FAST, local);
    }
  }
  if (endsGenerator) {
    assembler_.emit(Opcode::BUILD_TUPLE, held);
    callAndDrop(2);
  }
  releaseLocals();
}

// As a frame that was resumed returns: its inputs, which nobody else holds, end in the order in
// which the locals of the program let go of them.
void PyCodegen::orderEnds() {
  if (inputCount_ < 2) return;
  bool isHeld = true;
  int64_t last = -1;
  EndingInputs ending(translator_, outcome_.locals);
  for (int64_t input : ending.order()) {
    if (input >= last) {
      last = input;
      continue;
    }
    if (std::exchange(isHeld, false) && !releaseFrame()) return;
    last = moveBehind(static_cast<int32_t>(input));
  }
}

// Lets go of what holds the inputs of a frame that is about to return. False if it stays.
bool PyCodegen::releaseFrame() {
  if (inputHolder_ >= 0) {
    releaseHolder();
    return true;
  }
  Ref<> inputs = environment_.inputsOfFrame();
  if (!inputs) return false;
  assembler_.emitLoadConst(inputs);
  emitRelease();
  return true;
}

// Lets go of what holds the inputs beside the parameters, if there is such.
void PyCodegen::releaseHolder() {
  if (inputHolder_ < 0) return;
  assembler_.emit(Opcode::LOAD_FAST, inputHolder_);
  emitRelease();
}

// No call: CPython would look for signals, where the program does nothing yet.
void PyCodegen::emitRelease() {
  assembler_.emit(Opcode::UNARY_INVERT);
  assembler_.emit(Opcode::POP_TOP);
}

// From here on objects live as long as in plain Python: what the frames need is in locals of
// theirs, and nothing else is held.
void PyCodegen::releaseLocals() {
  auto release = [&](int32_t local) {
    if (!takenOver_.contains(local)) assembler_.emit(Opcode::DELETE_FAST, local);
  };
  for (int32_t local : temporaries_) release(local);
  temporaries_.clear();
  for (const Source* source : captures_) release(captureLocals_.lookup(source));
  bool isHolder = inputHolder_ >= 0;
  // What a frame object that goes on to be shown holds, it holds for longer than the frame runs.
  if (isHolder || translator_.entry().isShown) {
    for (int32_t i = 0; i < inputCount_; ++i) release(i);
  }
  releaseHolder();
}

}  // namespace armature
