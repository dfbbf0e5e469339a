// Instructions of code that keeps its names in a namespace: the bodies of classes.
#include "core/text.h"
#include "interpreter/instruction_translator.h"
#include "variables/containers/dict.h"
#include "variables/protocol/object_protocol.h"
#include "variables/recursion_guard.h"

namespace armature {

Value InstructionTranslator::runBody(UserFunctionVariable* function, const Value& names) {
  if (function->code->flags & (CO_COROUTINE | CO_ASYNC_GENERATOR | CO_GENERATOR)) {
    throw GraphBreak(GraphBreakKind::ClassBody, printable(function->code->name));
  }
  Frame* frame = pushFrame(function->code, function->globals, function);
  if (!bindArguments(function, {}, *frame)) {
    popFrame();
    return Value();
  }
  frame->names = names;
  RecursionGuard guard(*this);
  return run(frame);
}

bool InstructionTranslator::namespaceInstruction(Frame& frame, const Instruction& instruction) {
  auto* names = trackerOf<DictVariable>(frame.names);
  if (!names) {
    throw GraphBreak(GraphBreakKind::ClassBody, std::string(opcodeName(instruction.opcode)));
  }
  if (instruction.opcode == Opcode::SETUP_ANNOTATIONS) {
    static PyObject* const annotations = staticName("__annotations__");
    Value key = Value::constant(annotations);
    return names->has(*this, key) || names->set(*this, key, make<DictVariable>());
  }
  if (instruction.opcode == Opcode::LOAD_CLASSDEREF) {
    PyObject* variable = frame.code->locals[instruction.argument].name.get();
    Value value = names->get(*this, variable);
    if (!value) return cellOperation(frame, instruction);
    frame.push(std::move(value));
    return true;
  }
  PyObject* name = frame.code->names[instruction.argument].get();
  switch (instruction.opcode) {
    case Opcode::LOAD_NAME: {
      Value value = names->get(*this, name);
      if (!value) return loadGlobal(frame, name, true);
      frame.push(std::move(value));
      return true;
    }
    case Opcode::STORE_NAME:
      if (!names->set(*this, Value::constant(name), frame.peek(1))) return false;
      frame.drop(1);
      return true;
    default:
      if (names->remove(*this, Value::constant(name))) return true;
      raiseNameError(*this, "name '%U' is not defined", name);
      return false;
  }
}

}  // namespace armature
