#include "codegen/native_instruction.h"

#include <algorithm>

#include "variables/lazy.h"

namespace armature {

namespace {

// Builtins that look at the variables of the frame that calls them.
bool looksAtFrame(const Value& callable) {
  PyObject* object = callable.objectOrNull();
  if (!object) return false;
  if (object == reinterpret_cast<PyObject*>(&PySuper_Type)) return true;
  PyObject* builtins = PyEval_GetBuiltins();
  for (const char* name : {"locals", "vars", "dir", "eval", "exec"}) {
    if (PyDict_GetItemString(builtins, name) == object) return true;
  }
  return false;
}

bool hasClassCell(const Code& code) {
  return std::any_of(code.locals.begin(), code.locals.end(), [](const LocalVariable& local) {
    return local.kind == LocalKind::Free &&
           PyUnicode_CompareWithASCIIString(local.name.get(), "__class__") == 0;
  });
}

}  // namespace

bool canRunNatively(const FrameState& frame) {
  const Instruction& instruction = frame.code->instructions[frame.pc];
  if (needsItsFrame(instruction.opcode)) return false;
  // CPython's error names the variable.
  if (instruction.opcode == Opcode::DELETE_FAST && !frame.locals[instruction.argument])
    return false;
  Operands operands = operandsOf(instruction);
  auto depth = static_cast<int32_t>(frame.stack.size());
  if (operands.taken + operands.borrowed > depth) return false;
  if (instruction.opcode == Opcode::CALL) {
    size_t callable = frame.stack.size() - instruction.argument - 1;
    // What is not looked at yet may turn out to be super.
    if (instruction.argument == 0 && !frame.stack[callable - 1] &&
        trackerOf<LazyVariable>(frame.stack[callable]) && hasClassCell(*frame.code)) {
      return false;
    }
    return !looksAtFrame(frame.stack[callable]) && !looksAtFrame(frame.stack[callable - 1]);
  }
  return true;
}

}  // namespace armature
