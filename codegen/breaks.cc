// What follows a graph break: the unsupported instruction, run by Python, and the functions in
// which each frame goes on, innermost first.
#include "bytecode/liveness.h"
#include "codegen/py_codegen.h"
#include "codegen/unsupported.h"
#include "core/pending_python_exception.h"
#include "core/text.h"
#include "variables/containers/dict.h"
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

}  // namespace

// What the result, the stacks and the live locals refer to has to exist.
void PyCodegen::requireRoots() {
  plan_.require(outcome_.result);
  for (const FrameState& frame : outcome_.frames) {
    for (const Value& value : frame.stack) plan_.require(value);
    bool isInnermost = &frame == &outcome_.frames.back();
    Liveness liveness(*frame.code);
    // What the frame's continuation may read: from this instruction on for the innermost frame
    // (its jump targets included), from the next one on for callers.
    const llvm::BitVector& live = liveness.liveBefore(frame.pc + (isInnermost ? 0 : 1));
    for (int i = live.find_first(); i >= 0; i = live.find_next(i)) plan_.require(frame.locals[i]);
  }
}

EntryPoint resumeEntry(const FrameState& frame, int32_t pc, std::vector<bool> stackIsNull) {
  EntryPoint entry;
  entry.code = frame.code;
  entry.start = pc;
  entry.stackIsNull = std::move(stackIsNull);
  Liveness liveness(*frame.code);
  const llvm::BitVector& live = liveness.liveBefore(pc);
  for (int i = live.find_first(); i >= 0; i = live.find_next(i)) {
    if (!frame.locals[i]) continue;
    entry.locals.push_back(i);
    entry.localIsCell.push_back(frame.code->locals[i].kind != LocalKind::Local);
  }
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
  for (const Value& value : frame.stack) {
    if (!value) {
      stored.stack.push_back(-1);
      continue;
    }
    load(value);
    int32_t local = freshLocal("stack");
    assembler_.emit(Opcode::STORE_FAST, local);
    stored.stack.push_back(local);
  }
  Liveness liveness(*frame.code);
  const llvm::BitVector& live = liveness.liveBefore(frame.pc + (isInnermost ? 0 : 1));
  for (int i = live.find_first(); i >= 0; i = live.find_next(i)) {
    if (!frame.locals[i]) continue;
    load(frame.locals[i]);
    int32_t local = freshLocal(printable(frame.code->locals[i].name).c_str());
    assembler_.emit(Opcode::STORE_FAST, local);
    stored.locals[i] = local;
  }
}

// Calls the function in which a frame goes on: `consumed` entries of its stack are replaced by
// `results`. Leaves what it returns on the stack.
void PyCodegen::callResume(const FrameState& frame, size_t index, int32_t nextPc,
                           const std::vector<int32_t>& results, size_t consumed, bool plain) {
  const StoredFrame& stored = storedFrames_[index];
  std::vector<int32_t> stack(stored.stack.begin(), stored.stack.end() - consumed);
  stack.insert(stack.end(), results.begin(), results.end());
  std::vector<bool> isNull;
  for (int32_t local : stack) isNull.push_back(local < 0);
  EntryPoint entry = resumeEntry(frame, nextPc, std::move(isNull));
  PyObject* globals = frame.globals->existing();
  Ref<> function =
      plain ? plainFunction(entry, globals) : environment_.resumeFunction(entry, globals);
  if (!function) throw PendingPythonException();
  assembler_.emit(Opcode::PUSH_NULL);
  assembler_.emitLoadConst(function);
  int32_t count = 0;
  for (int32_t local : stack) {
    if (local < 0) continue;
    assembler_.emit(Opcode::LOAD_FAST, local);
    ++count;
  }
  for (int32_t local : entry.locals) {
    assembler_.emit(Opcode::LOAD_FAST, stored.locals.lookup(local));
    ++count;
  }
  assembler_.emitCall(count);
}

void PyCodegen::returnThroughCallers(size_t callerCount) {
  for (size_t i = callerCount; i > 0; --i) {
    const FrameState& caller = outcome_.frames[i - 1];
    int32_t result = freshLocal("result");
    assembler_.emit(Opcode::STORE_FAST, result);
    callResume(caller, i - 1, caller.pc + 1, {result}, caller.operandCount, false);
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
  callResume(innermost(), last, innermost().pc, {}, 0, true);
  returnThroughCallers(last);
}

void PyCodegen::emitBreak() {
  const FrameState& frame = innermost();
  size_t last = outcome_.frames.size() - 1;
  const Instruction& instruction = frame.code->instructions[frame.pc];
  Operands operands = operandsOf(instruction);
  const StoredFrame& stored = storedFrames_[last];
  for (size_t i = stored.stack.size() - operands.taken; i < stored.stack.size(); ++i) {
    if (stored.stack[i] < 0) {
      assembler_.emit(Opcode::PUSH_NULL);
    } else {
      assembler_.emit(Opcode::LOAD_FAST, stored.stack[i]);
    }
  }
  // The generated code bears the outermost function's name, so its lines count.
  assembler_.setPosition(breakPosition());

  // The results go to locals of their own; null ones (LOAD_METHOD's) stay known as such only where
  // the method's form is fixed, so a method is loaded as an attribute instead.
  auto goOn = [&](int32_t nextPc, int32_t left, int32_t consumed) {
    std::vector<int32_t> results(left);
    for (int32_t i = left; i > 0; --i) {
      results[i - 1] = freshLocal("result");
      assembler_.emit(Opcode::STORE_FAST, results[i - 1]);
    }
    callResume(frame, last, nextPc, results, consumed, false);
    returnThroughCallers(last);
  };

  if (isJump(instruction.opcode)) {
    Assembler::Label taken = assembler_.newLabel();
    assembler_.emitJump(instruction.opcode, taken);
    goOn(frame.pc + 1, operands.left, operands.taken);
    assembler_.bind(taken);
    bool keeps = instruction.opcode == Opcode::JUMP_IF_TRUE_OR_POP ||
                 instruction.opcode == Opcode::JUMP_IF_FALSE_OR_POP;
    goOn(instruction.argument, keeps ? 1 : 0, operands.taken);
    return;
  }
  switch (argumentKind(instruction.opcode)) {
    case ArgumentKind::Name: {
      PyObject* name = frame.code->names[instruction.argument].get();
      if (instruction.opcode == Opcode::LOAD_METHOD) {
        assembler_.emitName(Opcode::LOAD_ATTR, name);
        int32_t result = freshLocal("result");
        assembler_.emit(Opcode::STORE_FAST, result);
        callResume(frame, last, frame.pc + 1, {-1, result}, 1, false);
        returnThroughCallers(last);
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
  goOn(frame.pc + 1, operands.left, operands.taken);
}

}  // namespace armature
