// What follows a graph break: the unsupported instruction, run by Python, and the functions in
// which each frame goes on, innermost first.
#include <llvm/ADT/STLExtras.h>

#include "bytecode/liveness.h"
#include "codegen/py_codegen.h"
#include "codegen/unsupported.h"
#include "core/checked.h"
#include "core/pending_python_exception.h"
#include "core/text.h"
#include "variables/containers/dict.h"
#include "variables/lazy.h"
#include "variables/objects/exception.h"
#include "variables/protocol/object_protocol.h"

namespace armature {

namespace {

// Stack entries that an instruction that can be run natively takes and leaves (on its fall-through
// path).
struct Operands {
  int32_t taken;
  int32_t left;
};

Operands operandsOf(const Instruction& instruction) {
  int32_t n = instruction.argument;
  switch (instruction.opcode) {
    case Opcode::CALL:
      return {n + 2, 1};
    case Opcode::CALL_FUNCTION_EX:
      return {3 + (n & 1), 1};
    case Opcode::BINARY_OP:
    case Opcode::COMPARE_OP:
    case Opcode::CONTAINS_OP:
    case Opcode::IS_OP:
    case Opcode::BINARY_SUBSCR:
      return {2, 1};
    case Opcode::UNARY_POSITIVE:
    case Opcode::UNARY_NEGATIVE:
    case Opcode::UNARY_NOT:
    case Opcode::UNARY_INVERT:
    case Opcode::LOAD_ATTR:
    case Opcode::GET_ITER:
      return {1, 1};
    case Opcode::LOAD_METHOD:
      return {1, 2};
    case Opcode::STORE_ATTR:
      return {2, 0};
    case Opcode::DELETE_ATTR:
      return {1, 0};
    case Opcode::STORE_SUBSCR:
      return {3, 0};
    case Opcode::DELETE_SUBSCR:
      return {2, 0};
    case Opcode::UNPACK_SEQUENCE:
      return {1, n};
    case Opcode::UNPACK_EX:
      return {1, (n & 0xff) + (n >> 8) + 1};
    case Opcode::FORMAT_VALUE:
      return {(n & 4) ? 2 : 1, 1};
    case Opcode::BUILD_SET:
      return {n, 1};
    case Opcode::BUILD_MAP:
      return {2 * n, 1};
    case Opcode::FOR_ITER:
      return {1, 2};
    case Opcode::POP_JUMP_IF_TRUE:
    case Opcode::POP_JUMP_IF_FALSE:
      return {1, 0};
    case Opcode::JUMP_IF_TRUE_OR_POP:
    case Opcode::JUMP_IF_FALSE_OR_POP:
      return {1, 0};
    case Opcode::IMPORT_NAME:
      return {2, 1};
    case Opcode::IMPORT_FROM:
      return {1, 2};
    default:
      return {-1, 0};
  }
}

// Builtins that look at the frame that calls them.
bool looksAtFrame(const Value& callable) {
  PyObject* object = callable.objectOrNull();
  if (!object) return false;
  if (object == reinterpret_cast<PyObject*>(&PySuper_Type)) return true;
  PyObject* builtins = PyEval_GetBuiltins();
  for (const char* name : {"locals", "globals", "vars", "dir", "eval", "exec", "__import__"}) {
    if (PyDict_GetItemString(builtins, name) == object) return true;
  }
  return false;
}

// How many entries of a frame's stack its code still sees: what a pending call takes is that
// call's.
size_t keptOfStack(const FrameState& frame, bool isInnermost) {
  return frame.stack.size() - (isInnermost ? 0 : static_cast<size_t>(frame.operandCount));
}

// What the frame's continuation may read: from this instruction on for the innermost frame (its
// jump targets included), from the next one on for callers.
llvm::BitVector liveIn(const FrameState& frame, bool isInnermost) {
  return Liveness(*frame.code).liveBefore(frame.pc + (isInnermost ? 0 : 1));
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
    llvm::BitVector live = liveIn(frame, isInnermost);
    for (int i = live.find_first(); i >= 0; i = live.find_next(i)) plan_.require(frame.locals[i]);
  }
}

// Does a local that nothing reads any more keep something alive whose death can be seen? What has
// to exist for another reason; and what has come in a list, or in an object that has.
bool PyCodegen::keepsAlive(const Value& value) const {
  if (!value.isTracker()) return false;
  VariableTracker* tracker = value.tracker();
  if (auto* lazy = llvm::dyn_cast<LazyVariable>(tracker); lazy && lazy->realized.isConstant()) {
    return false;
  }
  const Source* source = tracker->source();
  if (!source) return plan_.find(tracker);
  while (source->base()) source = source->base();
  return translator_.entry().movesInputs && source->kind() == SourceKind::Local;
}

void PyCodegen::requireHeldLocals() {
  for (const FrameState& frame : outcome_.frames) {
    llvm::BitVector live = liveIn(frame, &frame == &outcome_.frames.back());
    for (size_t i = 0; i < frame.locals.size(); ++i) {
      if (!live.test(i) && keepsAlive(frame.locals[i])) plan_.require(frame.locals[i]);
    }
  }
}

EntryPoint resumeEntry(const CodePtr& code, int32_t pc, std::vector<bool> stackIsNull,
                       std::vector<int32_t> locals) {
  EntryPoint entry;
  entry.code = code;
  entry.start = pc;
  entry.stackIsNull = std::move(stackIsNull);
  entry.movesInputs = llvm::is_contained(entry.stackIsNull, false);
  llvm::BitVector rebound = reboundFrom(*code, pc);
  for (int32_t local : locals) {
    entry.localIsCell.push_back(code->locals[local].kind != LocalKind::Local);
    entry.movesInputs |= rebound.test(local);
  }
  entry.locals = std::move(locals);
  return entry;
}

bool PyCodegen::canRunNatively(const FrameState& frame) const {
  const Instruction& instruction = frame.code->instructions[frame.pc];
  Operands operands = operandsOf(instruction);
  if (operands.taken < 0 || operands.taken > static_cast<int32_t>(frame.stack.size())) return false;
  if (instruction.opcode == Opcode::IMPORT_NAME) {
    return frame.globals->existing() == translator_.rootGlobals();
  }
  if (instruction.opcode == Opcode::CALL) {
    size_t callable = frame.stack.size() - instruction.argument - 1;
    return !looksAtFrame(frame.stack[callable]) && !looksAtFrame(frame.stack[callable - 1]);
  }
  return true;
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
  if (inputList_ < 0) return;
  for (int32_t i = 0; i < inputCount_; ++i) assembler_.emit(Opcode::DELETE_FAST, i);
  assembler_.emit(Opcode::LOAD_FAST, inputList_);
  loadConstant(checked(PySlice_New(nullptr, nullptr, nullptr)));
  assembler_.emit(Opcode::DELETE_SUBSCR);
}

// Leaves on the stack what the local held, which holds it no more.
void PyCodegen::move(int32_t local) {
  assembler_.emit(Opcode::LOAD_FAST, local);
  assembler_.emit(Opcode::DELETE_FAST, local);
}

// Calls the function in which a frame goes on at `nextPc`, with `results` more entries on its
// stack, which are on the stack of the generated code. Leaves what it returns there.
void PyCodegen::callResume(const FrameState& frame, StoredFrame stored, int32_t nextPc,
                           int32_t results, bool plain) {
  // What becomes of a result at once is done here: it may be the end of an object.
  for (; results > 0 && !plain; --results, ++nextPc) {
    const Instruction& next = frame.code->instructions[nextPc];
    if (next.opcode == Opcode::POP_TOP) {
      assembler_.emit(Opcode::POP_TOP);
    } else if (next.opcode == Opcode::STORE_FAST) {
      auto [found, isNew] = stored.locals.try_emplace(next.argument, -1);
      if (isNew) {
        const LocalVariable& local = frame.code->locals[next.argument];
        found->second = assembler_.addFreshLocal(printable(local.name).c_str());
      }
      assembler_.emit(Opcode::STORE_FAST, found->second);
      stored.held.insert(next.argument);
    } else {
      break;
    }
  }
  size_t below = stored.stack.size();
  for (int32_t i = 0; i < results; ++i) stored.stack.push_back(assembler_.addFreshLocal("result"));
  for (size_t i = stored.stack.size(); i > below; --i) {
    assembler_.emit(Opcode::STORE_FAST, stored.stack[i - 1]);
  }

  Liveness liveness(*frame.code);
  const llvm::BitVector& live = liveness.liveBefore(nextPc);
  std::vector<int32_t> inputs, locals;
  std::vector<bool> isNull;
  for (int32_t local : stored.stack) {
    isNull.push_back(local < 0);
    if (local >= 0) inputs.push_back(local);
  }
  for (size_t i = 0; i < frame.code->locals.size(); ++i) {
    auto found = stored.locals.find(static_cast<int32_t>(i));
    if (found == stored.locals.end()) continue;
    if (live.test(i) || stored.held.contains(found->first)) {
      locals.push_back(found->first);
      inputs.push_back(found->second);
    } else {
      assembler_.emit(Opcode::DELETE_FAST, found->second);
    }
  }
  EntryPoint entry = resumeEntry(frame.code, nextPc, std::move(isNull), std::move(locals));
  PyObject* globals = frame.globals->existing();
  Ref<> function =
      plain ? plainFunction(entry, globals) : environment_.resumeFunction(entry, globals);
  if (!function) throw PendingPythonException();
  assembler_.emit(Opcode::PUSH_NULL);
  assembler_.emitLoadConst(function);
  for (int32_t local : inputs) move(local);
  auto count = static_cast<int32_t>(inputs.size());
  if (entry.movesInputs) assembler_.emit(Opcode::BUILD_LIST, count);
  assembler_.emitCall(entry.movesInputs ? 1 : count);
}

void PyCodegen::returnThroughCallers(size_t callerCount) {
  for (size_t i = callerCount; i > 0; --i) {
    const FrameState& caller = outcome_.frames[i - 1];
    callResume(caller, storedFrames_[i - 1], caller.pc + 1, 1, false);
  }
  assembler_.emit(Opcode::RETURN_VALUE);
}

// The line of the outermost function at which the trace stopped. An exception that is raised again
// bears the line where it was raised first.
Position PyCodegen::breakPosition() const {
  const FrameState& root = outcome_.frames.front();
  bool isReraise =
      outcome_.frames.size() == 1 && root.code->instructions[root.pc].opcode == Opcode::RERAISE;
  if (isReraise) {
    auto* raised = trackerOf<ExceptionVariable>(root.stack.back());
    if (raised && raised->raisedIn == root.code.get()) {
      return root.code->positions[raised->raisedAt];
    }
  }
  Position position = root.code->positions[root.pc];
  // The compiler's own instructions have no line.
  return position.line < 0 ? Position{root.code->firstLine, root.code->firstLine} : position;
}

void PyCodegen::emitResumePlain() {
  assembler_.setPosition(breakPosition());
  size_t last = outcome_.frames.size() - 1;
  callResume(innermost(), storedFrames_[last], innermost().pc, 0, true);
  returnThroughCallers(last);
}

void PyCodegen::emitBreak() {
  const FrameState& frame = innermost();
  size_t last = outcome_.frames.size() - 1;
  const Instruction& instruction = frame.code->instructions[frame.pc];
  Operands operands = operandsOf(instruction);
  StoredFrame stored = storedFrames_[last];
  for (size_t i = stored.stack.size() - operands.taken; i < stored.stack.size(); ++i) {
    if (stored.stack[i] < 0) {
      assembler_.emit(Opcode::PUSH_NULL);
    } else {
      move(stored.stack[i]);
    }
  }
  stored.stack.resize(stored.stack.size() - operands.taken);
  // The generated code bears the outermost function's name, so its lines count.
  assembler_.setPosition(breakPosition());

  auto goOn = [&](int32_t nextPc, int32_t results) {
    callResume(frame, stored, nextPc, results, false);
    returnThroughCallers(last);
  };

  if (isJump(instruction.opcode)) {
    Assembler::Label taken = assembler_.newLabel();
    assembler_.emitJump(instruction.opcode, taken);
    goOn(frame.pc + 1, operands.left);
    assembler_.bind(taken);
    bool keeps = instruction.opcode == Opcode::JUMP_IF_TRUE_OR_POP ||
                 instruction.opcode == Opcode::JUMP_IF_FALSE_OR_POP;
    goOn(instruction.argument, keeps ? 1 : 0);
    return;
  }
  switch (argumentKind(instruction.opcode)) {
    case ArgumentKind::Name: {
      PyObject* name = frame.code->names[instruction.argument].get();
      if (instruction.opcode == Opcode::LOAD_METHOD) {
        // Whether it leaves a method and its object or NULL and an attribute is not known before.
        assembler_.emitName(Opcode::LOAD_ATTR, name);
        stored.stack.push_back(-1);
        goOn(frame.pc + 1, 1);
        return;
      }
      assembler_.emitName(instruction.opcode, name);
      break;
    }
    default:
      if (instruction.opcode == Opcode::CALL) {
        BorrowedRef<> names = nullptr;
        if (instruction.names >= 0) names = frame.code->constants[instruction.names];
        assembler_.emitCall(instruction.argument, names);
      } else {
        assembler_.emit(instruction.opcode, instruction.argument);
      }
  }
  goOn(frame.pc + 1, operands.left);
}

}  // namespace armature
