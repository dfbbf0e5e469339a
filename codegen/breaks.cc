// What a graph break leaves in locals of the generated code, and what it lets go of there.
#include "codegen/frame_code.h"
#include "codegen/py_codegen.h"
#include "core/text.h"
#include "variables/functions/functions.h"
#include "variables/lazy.h"

namespace armature {

namespace {

// How many entries of a frame's stack its code still sees: what a pending call takes is that
// call's.
size_t keptOfStack(const FrameState& frame, bool isInnermost) {
  return frame.stack.size() - (isInnermost ? 0 : static_cast<size_t>(frame.operandCount));
}

}  // namespace

// What the result, the stacks and the live locals refer to has to exist.
void PyCodegen::requireRoots() {
  plan_.require(outcome_.result);
  for (const FrameState& frame : outcome_.frames) {
    bool isInnermost = &frame == &outcome_.frames.back();
    llvm::ArrayRef<Value> stack(frame.stack);
    for (const Value& value : stack.take_front(keptOfStack(frame, isInnermost))) {
      plan_.require(value);
    }
    plan_.require(frame.handled);
    llvm::BitVector live = liveIn(frame, isInnermost);
    for (int i = live.find_first(); i >= 0; i = live.find_next(i)) plan_.require(frame.locals[i]);
  }
}

// Does a local that nothing reads any more keep something alive whose death can be seen? What has
// to exist for another reason; a generator that has begun; and, as the arguments of a function are
// its caller's, but the inputs of a resumption nobody else's, what has come as one of those; and
// what has come in one of either, which may let go of it.
bool PyCodegen::keepsAlive(const Value& value) const {
  if (!value.isTracker()) return false;
  VariableTracker* tracker = value.tracker();
  if (auto* lazy = llvm::dyn_cast<LazyVariable>(tracker); lazy && lazy->realized.isConstant()) {
    return false;
  }
  const Source* source = tracker->source();
  if (!source) {
    auto* generator = llvm::dyn_cast<GeneratorVariable>(tracker);
    bool endsWithIt = generator && generator->state == GeneratorVariable::State::Suspended;
    return endsWithIt || plan_.find(tracker);
  }
  bool isPart = source->base();
  while (source->base()) source = source->base();
  bool isInput = source->kind() == SourceKind::Local || source->kind() == SourceKind::LocalCell;
  return isInput && (isPart || !translator_.entry().isFunctionStart());
}

void PyCodegen::requireHeldLocals() {
  for (const FrameState& frame : outcome_.frames) {
    llvm::BitVector live = liveIn(frame, &frame == &outcome_.frames.back());
    for (size_t i = 0; i < frame.locals.size(); ++i) {
      if (!live.test(i) && keepsAlive(frame.locals[i])) plan_.require(frame.locals[i]);
    }
  }
}

// Puts the stack and the live locals of a frame into locals of the generated code.
void PyCodegen::storeFrame(const FrameState& frame, size_t index) {
  bool isInnermost = index + 1 == outcome_.frames.size();
  StoredFrame& stored = storedFrames_.emplace_back();
  auto store = [&](const Value& value, const char* name) {
    load(value);
    int32_t local = assembler_.addFreshLocal(name);
    assembler_.emit(Opcode::STORE_FAST, local);
    return local;
  };
  for (size_t i = 0; i < keptOfStack(frame, isInnermost); ++i) {
    stored.stack.push_back(frame.stack[i] ? store(frame.stack[i], "stack") : -1);
  }
  if (frame.handled) stored.handled = store(frame.handled, "handled");
  llvm::BitVector live = liveIn(frame, isInnermost);
  for (size_t i = 0; i < frame.locals.size(); ++i) {
    const Value& value = frame.locals[i];
    if (!value) continue;
    auto local = static_cast<int32_t>(i);
    if (keepsAlive(value)) stored.held.insert(local);
    if (!live.test(i) && !stored.held.contains(local)) continue;
    stored.locals[local] = store(value, printable(frame.code->locals[i].name).c_str());
  }
}

// From here on objects live as long as in plain Python: what the frames need is in locals of
// theirs, and nothing else is held.
void PyCodegen::releaseLocals() {
  for (int32_t local : temporaries_) assembler_.emit(Opcode::DELETE_FAST, local);
  temporaries_.clear();
  for (const Source* source : captures_) {
    assembler_.emit(Opcode::DELETE_FAST, captureLocals_.lookup(source));
  }
  if (inputHolder_ < 0) return;
  for (int32_t i = 0; i < inputCount_; ++i) assembler_.emit(Opcode::DELETE_FAST, i);
  assembler_.emit(Opcode::PUSH_NULL);
  assembler_.emit(Opcode::LOAD_FAST, inputHolder_);
  call(0);
  assembler_.emit(Opcode::POP_TOP);
}

}  // namespace armature
