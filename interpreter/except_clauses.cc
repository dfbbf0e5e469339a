#include "interpreter/except_clauses.h"

#include "variables/containers/dict.h"

namespace armature {

namespace {

// The builtin exception that a global name of the frame means; null if it means anything else.
PyObject* builtinException(Translator& translator, const Frame& frame, PyObject* name) {
  if (frame.globals->has(translator, Value::constant(name))) return nullptr;
  PyObject* object = PyDict_GetItemWithError(PyEval_GetBuiltins(), name);
  return object && PyExceptionClass_Check(object) ? object : nullptr;
}

}  // namespace

// Follows what the compiler makes of such clauses.
bool passesClauses(Translator& translator, const Frame& frame, int32_t handler,
                   llvm::function_ref<bool(PyObject* error)> isCaught) {
  const std::vector<Instruction>& instructions = frame.code->instructions;
  int32_t pc = handler;
  bool isClause = instructions[pc].opcode == Opcode::PUSH_EXC_INFO;
  if (isClause) ++pc;
  while (isClause && instructions[pc].opcode == Opcode::LOAD_GLOBAL) {
    int32_t count = 0;
    for (; instructions[pc].opcode == Opcode::LOAD_GLOBAL; ++pc, ++count) {
      PyObject* name = frame.code->names[instructions[pc].argument].get();
      PyObject* error = builtinException(translator, frame, name);
      if (!error || isCaught(error)) return false;
    }
    bool isTuple =
        instructions[pc].opcode == Opcode::BUILD_TUPLE && instructions[pc].argument == count;
    if (isTuple) ++pc;
    if ((!isTuple && count != 1) || instructions[pc].opcode != Opcode::CHECK_EXC_MATCH ||
        instructions[pc + 1].opcode != Opcode::POP_JUMP_IF_FALSE) {
      return false;
    }
    pc = instructions[pc + 1].argument;
  }
  // The end of a clause that restores the exception that was handled before.
  if (!isClause && instructions[pc].opcode == Opcode::COPY) pc += 2;
  return instructions[pc].opcode == Opcode::RERAISE;
}

}  // namespace armature
