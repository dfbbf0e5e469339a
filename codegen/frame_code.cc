#include "codegen/frame_code.h"

#include <llvm/ADT/STLExtras.h>

#include "bytecode/liveness.h"
#include "codegen/call_rewriting.h"
#include "codegen/continuations.h"
#include "codegen/interruption.h"
#include "codegen/native_instruction.h"
#include "codegen/py_codegen.h"
#include "codegen/runnable_code.h"
#include "core/checked.h"
#include "core/pending_python_exception.h"
#include "core/text.h"
#include "cpython/function_layout.h"
#include "cpython/tracebacks.h"
#include "variables/containers/dict.h"

namespace armature {

llvm::BitVector liveIn(const FrameState& frame) {
  const Liveness& liveness = livenessOf(*frame.code);
  llvm::BitVector live = liveness.liveBefore(frame.pc);
  if (int32_t region = frame.code->regionOf[frame.pc]; region >= 0) {
    live |= liveness.liveBefore(frame.code->regions[region].target);
  }
  return live;
}

EntryPoint resumeEntry(const CodePtr& code, int32_t pc, int32_t ranLast,
                       std::vector<bool> stackIsNull, int32_t openHandlers,
                       std::vector<int32_t> locals) {
  EntryPoint entry;
  entry.code = code;
  entry.start = pc;
  entry.ranLast = ranLast;
  entry.stackIsNull = std::move(stackIsNull);
  entry.openHandlers = openHandlers;
  entry.movesInputs = openHandlers > 0 || llvm::is_contained(entry.stackIsNull, false);
  llvm::BitVector rebound = reboundFrom(*code, pc);
  for (int32_t local : locals) {
    entry.localIsCell.push_back(code->locals[local].kind != LocalKind::Local);
    entry.movesInputs |= rebound.test(local);
  }
  entry.locals = std::move(locals);
  return entry;
}

namespace {

// Visits what a stored frame has, in the order in which lists of it are: visit(local, name), and
// visitVariable(local, variable) for what the program knows of.
template <class Visit, class VisitVariable>
void forEachValue(const FrameState& frame, StoredFrame& stored, Visit visit,
                  VisitVariable visitVariable) {
  for (int32_t& local : stored.stack) {
    if (local >= 0) visit(local, "stack");
  }
  if (stored.handled >= 0) visit(stored.handled, "handled");
  if (stored.shown >= 0) visit(stored.shown, "frame");
  if (stored.traced >= 0) visit(stored.traced, "traced");
  if (stored.generator >= 0) visit(stored.generator, "generator");
  for (int32_t& local : stored.operands) visit(local, "operand");
  for (size_t i = 0; i < frame.code->locals.size(); ++i) {
    auto found = stored.locals.find(static_cast<int32_t>(i));
    if (found != stored.locals.end()) visitVariable(found->second, frame.code->locals[i]);
  }
}

// Where a frame stands.
Position positionOf(const FrameState& frame) { return shownPosition(*frame.code, frame.pc); }

}  // namespace

FrameCode::FrameCode(Assembler& assembler, CodegenEnvironment& environment,
                     llvm::ArrayRef<FrameState> frames, StoredFrame own, int32_t inner,
                     llvm::ArrayRef<StoredFrame> innerStored)
    : assembler_(assembler),
      environment_(environment),
      frames_(frames),
      stored_(std::move(own)),
      inner_(inner),
      innerStored_(innerStored) {}

FrameCode::FrameCode(Assembler& assembler, CodegenEnvironment& environment,
                     llvm::ArrayRef<FrameState> frames, llvm::ArrayRef<StoredFrame> stored)
    : FrameCode(assembler, environment, frames, stored.front(), -1, stored.drop_front()) {
  for (size_t i = frames.size() - 1; i > 0; --i) {
    int32_t count = 0;
    StoredFrame values = stored[i];
    auto append = [&](int32_t local, const auto&) {
      move(local);
      ++count;
    };
    forEachValue(frames[i], values, append, append);
    if (inner_ >= 0) move(inner_), ++count;
    assembler_.emit(Opcode::BUILD_LIST, count);
    if (inner_ < 0) inner_ = assembler_.addFreshLocal("___inner");
    assembler_.emit(Opcode::STORE_FAST, inner_);
  }
}

const ExceptionRegion* FrameCode::region() const {
  int32_t region = frame().code->regionOf[frame().pc];
  return region < 0 ? nullptr : &frame().code->regions[region];
}

void FrameCode::emit(bool plain, llvm::function_ref<void()> begin) {
  assembler_.setPosition(positionOf(frame()));
  continueShown();
  if (frames_.size() > 1) {
    callNext(plain, begin);
  } else if (plain) {
    begin();
    jumpTo(std::move(stored_), frame().pc, true);
  } else {
    runInstruction(begin);
  }
}

// Leaves on the stack what the local held, which holds it no more.
void FrameCode::move(int32_t local) {
  assembler_.emit(Opcode::LOAD_FAST, local);
  assembler_.emit(Opcode::DELETE_FAST, local);
}

// --- Frame objects that tracebacks show.

// The frame of this code is what they stand for from now on. One local, `shown`, is left with what
// the next code is to be told.
void FrameCode::continueShown() {
  for (int32_t* local : {&stored_.shown, &stored_.traced}) {
    if (*local < 0) continue;
    assembler_.emit(Opcode::PUSH_NULL);
    assembler_.emitLoadConst(cpython::continueFrameFunction());
    assembler_.emit(Opcode::LOAD_FAST, *local);
    assembler_.emitCall(1);
    assembler_.emit(Opcode::STORE_FAST, *local);
  }
  if (stored_.shown >= 0 && stored_.traced >= 0) {
    storeOwnFrame(stored_);
    assembler_.emit(Opcode::DELETE_FAST, stored_.traced);
  } else if (stored_.traced >= 0) {
    stored_.shown = stored_.traced;
  }
  stored_.traced = -1;
}

void FrameCode::storeOwnFrame(StoredFrame& stored) {
  assembler_.emit(Opcode::PUSH_NULL);
  assembler_.emitLoadConst(cpython::ownFrameFunction());
  assembler_.emitCall(0);
  if (stored.shown < 0) stored.shown = assembler_.addFreshLocal("frame");
  assembler_.emit(Opcode::STORE_FAST, stored.shown);
}

// --- What may raise.

// The exception that the frame is handling is the one that sys.exc_info() tells, and the context of
// others. Below what follows, the stack then has the one that was handled before.
void FrameCode::beginProtected() {
  int32_t handled = stored_.handled;
  if (handled >= 0) {
    assembler_.emit(Opcode::LOAD_FAST, handled);
    assembler_.emit(Opcode::PUSH_EXC_INFO);
    assembler_.emit(Opcode::POP_TOP);
  }
  bool hasStack = llvm::any_of(stored_.stack, [](int32_t local) { return local >= 0; });
  if (handled < 0 && stored_.shown < 0 && !hasStack && !region() && !timerEnd_) return;
  handler_ = assembler_.newLabel();
  assembler_.beginRegion(*handler_, handled >= 0, false);
}

void FrameCode::endProtected() {
  if (handler_) assembler_.endRegion();
  emitTimer(timerEnd_);
}

// Null: nothing.
void FrameCode::emitTimer(BorrowedRef<> function) {
  if (!function) return;
  assembler_.emit(Opcode::PUSH_NULL);
  assembler_.emitLoadConst(function);
  assembler_.emitCall(0);
  assembler_.emit(Opcode::POP_TOP);
}

void FrameCode::leaveHandled() {
  if (stored_.handled >= 0) assembler_.emit(Opcode::POP_EXCEPT);
}

// What a clause of `except*` takes, on the stack, is what the frame handles from then on.
void FrameCode::handleMatch() {
  Assembler::Label nothing = assembler_.newLabel();
  assembler_.emit(Opcode::COPY, 1);
  assembler_.emitJump(Opcode::POP_JUMP_IF_NONE, nothing);
  assembler_.emit(Opcode::COPY, 1);
  assembler_.emit(Opcode::STORE_FAST, stored_.handled);
  assembler_.bind(nothing);
}

void FrameCode::emitHandler() {
  if (!handler_) return;
  assembler_.bind(*handler_);
  emitTimer(timerEnd_);
  if (stored_.handled >= 0) {
    assembler_.emit(Opcode::SWAP, 2);
    assembler_.emit(Opcode::POP_EXCEPT);
  }
  const ExceptionRegion* region = this->region();
  if (!region) {
    // A frame that tracebacks show keeps its local variables when it ends, and nothing else.
    for (int32_t local : llvm::reverse(stored_.stack)) {
      if (local >= 0) assembler_.emit(Opcode::DELETE_FAST, local);
    }
    if (stored_.shown >= 0) {
      if (stored_.handled >= 0) assembler_.emit(Opcode::DELETE_FAST, stored_.handled);
      assembler_.emit(Opcode::DELETE_FAST, stored_.shown);
    }
    assembler_.emit(Opcode::RERAISE, 0);
    return;
  }
  StoredFrame after = stored_;
  for (size_t i = after.stack.size(); i > static_cast<size_t>(region->depth); --i) {
    if (after.stack[i - 1] >= 0) assembler_.emit(Opcode::DELETE_FAST, after.stack[i - 1]);
  }
  after.stack.resize(region->depth);
  int32_t exception = assembler_.addFreshLocal("exception");
  assembler_.emit(Opcode::STORE_FAST, exception);
  if (region->pushLasti) {
    int32_t lasti = assembler_.addFreshLocal("lasti");
    assembler_.emitLoadConst(checked(PyLong_FromLong(frame().pc)));
    assembler_.emit(Opcode::STORE_FAST, lasti);
    after.stack.push_back(lasti);
  }
  after.stack.push_back(exception);
  if (after.shown < 0) storeOwnFrame(after);  // in the exception's traceback
  jumpTo(std::move(after), region->target, false);
}

// --- Going on.

// The frame goes on at `nextPc` with `results` more entries on its stack, which are on the stack of
// the generated code, over `borrowed` copies that have served.
void FrameCode::finish(StoredFrame after, int32_t nextPc, int32_t results, int32_t borrowed) {
  // What becomes of a result at once is done here: it may be the end of an object.
  for (; results > 0; --results, ++nextPc) {
    const Instruction& next = frame().code->instructions[nextPc];
    if (next.opcode == Opcode::POP_TOP) {
      assembler_.emit(Opcode::POP_TOP);
    } else if (next.opcode == Opcode::STORE_FAST) {
      auto [found, isNew] = after.locals.try_emplace(next.argument, -1);
      if (isNew) {
        found->second = assembler_.addShownLocal(frame().code->locals[next.argument]);
      }
      assembler_.emit(Opcode::STORE_FAST, found->second);
      after.held.insert(next.argument);
    } else {
      break;
    }
  }
  size_t below = after.stack.size();
  for (int32_t i = 0; i < results; ++i) after.stack.push_back(assembler_.addFreshLocal("result"));
  for (size_t i = after.stack.size(); i > below; --i) {
    assembler_.emit(Opcode::STORE_FAST, after.stack[i - 1]);
  }
  for (int32_t i = 0; i < borrowed; ++i) assembler_.emit(Opcode::POP_TOP);
  leaveHandled();
  jumpTo(std::move(after), nextPc, false, true);
}

// `hasRun`: the frame's instruction has, so that an interrupt belongs to it; but what BEFORE_WITH
// has entered is to be left again.
void FrameCode::jumpTo(StoredFrame after, int32_t pc, bool plain, bool hasRun) {
  const Liveness& liveness = livenessOf(*frame().code);
  llvm::BitVector live = liveness.liveBefore(pc);
  const std::vector<int32_t>& regionOf = frame().code->regionOf;
  bool belongs = hasRun && instruction().opcode != Opcode::BEFORE_WITH;
  int32_t ranLast = belongs && regionOf[pc] != regionOf[frame().pc] ? frame().pc : -1;
  if (ranLast >= 0 && region()) live |= liveness.liveBefore(region()->target);
  std::vector<int32_t> inputs, locals;
  std::vector<bool> isNull;
  for (int32_t local : after.stack) {
    isNull.push_back(local < 0);
    if (local >= 0) inputs.push_back(local);
  }
  if (after.handled >= 0) inputs.push_back(after.handled);
  if (after.shown >= 0) inputs.push_back(after.shown);
  if (after.generator >= 0) inputs.push_back(after.generator);
  for (size_t i = 0; i < frame().code->locals.size(); ++i) {
    auto found = after.locals.find(static_cast<int32_t>(i));
    if (found == after.locals.end()) continue;
    if (live.test(i) || after.held.contains(found->first)) {
      locals.push_back(found->first);
      inputs.push_back(found->second);
    } else {
      assembler_.emit(Opcode::DELETE_FAST, found->second);
    }
  }
  EntryPoint entry = resumeEntry(frame().code, pc, ranLast, std::move(isNull), frame().openHandlers,
                                 std::move(locals));
  entry.builtins = frame().builtins;
  entry.isShown = after.shown >= 0;
  entry.isGenerator = after.generator >= 0;
  Ref<> function = environment_.resumeFunction(entry, frame().globals->existing(), plain);
  if (!function) throw PendingPythonException();
  assembler_.emit(Opcode::PUSH_NULL);
  assembler_.emitLoadConst(function);
  for (int32_t local : inputs) move(local);
  std::optional<Assembler::Label> interrupted;
  if (entry.interruptRegion()) {
    interrupted = assembler_.newLabel();
    assembler_.beginRegion(*interrupted, 0, false);
  }
  assembler_.emitCall(static_cast<int32_t>(inputs.size()));
  if (interrupted) assembler_.endRegion();
  assembler_.emit(Opcode::RETURN_VALUE);
  if (!interrupted) return;
  // The call is where CPython looks for signals.
  assembler_.bind(*interrupted);
  emitInterruption(assembler_);
}

// --- The innermost frame.

void FrameCode::runInstruction(llvm::function_ref<void()> begin) {
  Operands operands = operandsOf(instruction());
  StoredFrame& stored = stored_;
  // To return, because of a break in what the caller does then, takes no time.
  bool returns = instruction().opcode == Opcode::RETURN_VALUE;
  BreakTimer timer = returns ? BreakTimer() : environment_.breakTimer();
  emitTimer(timer.begin);
  timerEnd_ = timer.end;
  beginProtected();
  begin();
  size_t bottom = stored.stack.size() - operands.taken - operands.borrowed;
  // caller(callable, *arguments): its place is that of the NULL below, or below a method.
  bool isStarred = instruction().opcode == Opcode::CALL_FUNCTION_EX;
  if (isStarred || instruction().opcode == Opcode::CALL) caller_ = environment_.pythonCalls();
  if (isStarred && caller_) caller_ = starredCaller(caller_);
  if (caller_) assembler_.emitLoadConst(caller_);
  for (size_t i = bottom; i < stored.stack.size(); ++i) {
    if (caller_ && i == bottom && stored.stack[i] < 0) continue;
    if (stored.stack[i] < 0) {
      assembler_.emit(Opcode::PUSH_NULL);
    } else if (i < bottom + operands.borrowed) {
      assembler_.emit(Opcode::LOAD_FAST, stored.stack[i]);
    } else {
      move(stored.stack[i]);
    }
  }
  callerTakes_ = caller_ && stored.stack[bottom] >= 0;
  stored.stack.resize(bottom + operands.borrowed);
  int32_t nextPc = frame().pc + 1;
  if (Ref<> raised = environment_.raised()) {
    assembler_.emit(Opcode::PUSH_NULL);
    assembler_.emitLoadConst(raised);
    assembler_.emitCall(0);
    assembler_.emit(Opcode::RAISE_VARARGS, 1);
    endProtected();
  } else if (isJump(instruction().opcode)) {
    StackUse use = stackUse(instruction().opcode, instruction().argument);
    Assembler::Label taken = assembler_.newLabel();
    assembler_.emitJump(instruction().opcode, taken);
    endProtected();
    finish(stored, nextPc, operands.left, operands.borrowed);
    assembler_.bind(taken);
    emitTimer(timerEnd_);
    finish(stored, instruction().argument, static_cast<int32_t>(use.jump) - operands.borrowed,
           operands.borrowed);
  } else if (instruction().opcode == Opcode::STORE_FAST) {
    endProtected();
    finish(stored, frame().pc, 1, 0);
  } else if (instruction().opcode == Opcode::DELETE_FAST) {
    auto found = stored.locals.find(instruction().argument);
    if (found == stored.locals.end()) {
      assembler_.emit(Opcode::NOP);
    } else {
      assembler_.emit(Opcode::DELETE_FAST, found->second);
      stored.locals.erase(found);
    }
    endProtected();
    finish(stored, nextPc, 0, 0);
  } else if (instruction().opcode == Opcode::LOAD_METHOD) {
    // Whether it leaves a method and its object or NULL and an attribute is not known before.
    assembler_.emitName(Opcode::LOAD_ATTR, frame().code->names[instruction().argument]);
    endProtected();
    StoredFrame after = stored;
    after.stack.push_back(-1);
    finish(std::move(after), nextPc, 1, 0);
  } else {
    emitInstruction();
    endProtected();
    if (instruction().opcode == Opcode::CHECK_EG_MATCH) handleMatch();
    if (!isTerminator(instruction().opcode)) {
      finish(stored, nextPc, operands.left, operands.borrowed);
    }
  }
  emitHandler();
}

void FrameCode::emitInstruction() {
  const Instruction& instruction = this->instruction();
  const Code& code = *frame().code;
  switch (argumentKind(instruction.opcode)) {
    case ArgumentKind::Name:
      assembler_.emitName(instruction.opcode, code.names[instruction.argument]);
      return;
    case ArgumentKind::Const:
      assembler_.emitLoadConst(code.constants[instruction.argument]);
      return;
    default:
      break;
  }
  if (instruction.opcode == Opcode::CALL) {
    BorrowedRef<> names = nullptr;
    if (instruction.names >= 0) names = code.constants[instruction.names];
    assembler_.emitCall(instruction.argument + callerTakes_, names);
  } else if (instruction.opcode == Opcode::CALL_FUNCTION_EX && caller_) {
    assembler_.emitCall(1 + (instruction.argument & 1) + callerTakes_);
  } else if (instruction.opcode == Opcode::RERAISE) {
    assembler_.emit(Opcode::RERAISE, 0);  // without what it says of f_lasti
  } else {
    assembler_.emit(instruction.opcode, instruction.argument);
  }
}

// --- Callers.

// The values of a frame come in a list, which nothing but the call holds, and which the code
// empties when it has them. The last is the list for the frames that it has called, if there are
// any.
Ref<> FrameCode::functionOfNext(bool plain) {
  const FrameState& next = frames_[1];
  Assembler assembler(next.code->name, next.code->filename, next.code->firstLine);
  assembler.setQualifiedName(next.code->qualifiedName);
  int32_t list = assembler.addParameter(checked(PyUnicode_FromString("___inputs")));
  std::vector<int32_t> locals;
  auto take = [&](int32_t& local, const char* name) {
    local = assembler.addFreshLocal(name);
    locals.push_back(local);
  };
  auto takeVariable = [&](int32_t& local, const LocalVariable& variable) {
    local = assembler.addShownLocal(variable);
    locals.push_back(local);
  };
  StoredFrame stored = innerStored_.front();
  forEachValue(next, stored, take, takeVariable);
  int32_t inner = -1;
  if (frames_.size() > 2) take(inner, "___inner");
  assembler.setPosition(positionOf(next));
  assembler.emit(Opcode::RESUME, 0);
  assembler.emit(Opcode::LOAD_FAST, list);
  assembler.emit(Opcode::UNPACK_SEQUENCE, static_cast<int32_t>(locals.size()));
  for (int32_t local : locals) assembler.emit(Opcode::STORE_FAST, local);
  assembler.emit(Opcode::LOAD_FAST, list);
  assembler.emitLoadConst(checked(PySlice_New(nullptr, nullptr, nullptr)));
  assembler.emit(Opcode::DELETE_SUBSCR);
  FrameCode(assembler, environment_, frames_.drop_front(), std::move(stored), inner,
            innerStored_.drop_front())
      .emit(plain);
  assembler.showFrameOf(next.code->locals);
  Ref<PyCodeObject> code = runnableCode(*assembler.finish(), next.code->original);
  if (!code) return nullptr;
  Ref<> function = cpython::makeFunction(reinterpret_cast<PyObject*>(code.get()),
                                         next.globals->existing(), next.builtins);
  return function ? environment_.frameFunction(function, next.continuations) : nullptr;
}

void FrameCode::callNext(bool plain, llvm::function_ref<void()> begin) {
  Ref<> function = functionOfNext(plain);
  if (!function) throw PendingPythonException();
  beginProtected();
  begin();
  assembler_.emit(Opcode::PUSH_NULL);
  assembler_.emitLoadConst(function);
  move(inner_);
  for (int32_t local : stored_.operands) move(local);
  assembler_.emitCall(1 + static_cast<int32_t>(stored_.operands.size()));
  stored_.operands.clear();
  endProtected();
  completeCall();
  emitHandler();
}

// InstructionTranslator::complete, with the result on the stack of the generated code.
void FrameCode::completeCall() {
  Opcode opcode = instruction().opcode;
  int32_t nextPc = frame().pc + 1;
  auto withoutOperands = [&](int32_t count) {
    StoredFrame after = stored_;
    for (; count > 0; --count) {
      if (after.stack.back() >= 0) assembler_.emit(Opcode::DELETE_FAST, after.stack.back());
      after.stack.pop_back();
    }
    return after;
  };
  Assembler::Label jump = assembler_.newLabel();
  switch (opcode) {
    case Opcode::POP_JUMP_IF_TRUE:
    case Opcode::POP_JUMP_IF_FALSE:
      assembler_.emitJump(opcode, jump);
      finish(withoutOperands(1), nextPc, 0, 0);
      assembler_.bind(jump);
      finish(withoutOperands(1), instruction().argument, 0, 0);
      return;
    case Opcode::JUMP_IF_TRUE_OR_POP:
    case Opcode::JUMP_IF_FALSE_OR_POP:
      assembler_.emitJump(opcode == Opcode::JUMP_IF_TRUE_OR_POP ? Opcode::POP_JUMP_IF_TRUE
                                                                : Opcode::POP_JUMP_IF_FALSE,
                          jump);
      finish(withoutOperands(1), nextPc, 0, 0);
      assembler_.bind(jump);
      finish(stored_, instruction().argument, 0, 0);
      return;
    case Opcode::FOR_ITER:
      assembler_.emit(Opcode::COPY, 1);
      assembler_.emitLoadConst(endOfIteration());
      assembler_.emit(Opcode::IS_OP, 0);
      assembler_.emitJump(Opcode::POP_JUMP_IF_TRUE, jump);
      finish(stored_, nextPc, 1, 0);
      assembler_.bind(jump);
      assembler_.emit(Opcode::POP_TOP);
      finish(withoutOperands(1), instruction().argument, 0, 0);
      return;
    case Opcode::SEND:
      // A pair: see OnReturn::EndDelegation.
      assembler_.emit(Opcode::UNPACK_SEQUENCE, 2);
      assembler_.emitJump(Opcode::POP_JUMP_IF_TRUE, jump);
      finish(withoutOperands(1), nextPc, 1, 0);
      assembler_.bind(jump);
      finish(withoutOperands(2), instruction().argument, 1, 0);
      return;
    case Opcode::UNPACK_SEQUENCE:
    case Opcode::UNPACK_EX: {
      int32_t count = operandsOf(instruction()).left;
      assembler_.emit(Opcode::UNPACK_SEQUENCE, count);
      finish(withoutOperands(1), nextPc, count, 0);
      return;
    }
    case Opcode::BEFORE_WITH:
      finish(stored_, nextPc, 1, 0);
      return;
    case Opcode::LOAD_METHOD: {
      StoredFrame after = withoutOperands(1);
      after.stack.push_back(-1);
      finish(std::move(after), nextPc, 1, 0);
      return;
    }
    default: {
      Operands operands = operandsOf(instruction());
      if (operands.left == 0) assembler_.emit(Opcode::POP_TOP);
      // CPython's instructions let go of the lowest first.
      StoredFrame after = stored_;
      size_t rest = after.stack.size() - (operands.taken - frame().operandCount);
      for (int32_t local : llvm::drop_begin(stored_.stack, rest)) {
        if (local >= 0) assembler_.emit(Opcode::DELETE_FAST, local);
      }
      after.stack.resize(rest);
      finish(std::move(after), nextPc, operands.left, 0);
      return;
    }
  }
}

}  // namespace armature
