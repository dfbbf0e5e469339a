// Instructions of CPython's abstract protocols, which special methods of the program answer: the
// method's frame is pushed, and the instruction ends where that returns.
#include <algorithm>

#include "core/checked.h"
#include "interpreter/instruction_translator.h"
#include "variables/constants/computed_values.h"
#include "variables/containers/sequence_slots.h"
#include "variables/functions/builtin_handlers.h"
#include "variables/lazy.h"
#include "variables/objects/context_manager.h"
#include "variables/objects/exception.h"
#include "variables/objects/user_defined.h"
#include "variables/protocol/ascii_text.h"
#include "variables/protocol/object_protocol.h"
#include "variables/tensors/array_assertion.h"
#include "variables/tensors/tensor.h"

namespace armature {

namespace {

// The jump over what raises an AssertionError: what it says, a str; null if it is none, or says
// what is found out only then.
PyObject* messageOfAssertion(const Frame& frame) {
  static PyObject* const standard =
      checked(PyUnicode_InternFromString("assertion error")).release();
  const std::vector<Instruction>& instructions = frame.code->instructions;
  if (instructions[frame.pc].opcode != Opcode::POP_JUMP_IF_TRUE) return nullptr;
  const Instruction* next = &instructions[frame.pc] + 1;
  const Instruction* end = instructions.data() + instructions.size();
  if (end - next < 2 || next[0].opcode != Opcode::LOAD_ASSERTION_ERROR) return nullptr;
  if (next[1].opcode == Opcode::RAISE_VARARGS) return standard;
  if (end - next < 4 || next[1].opcode != Opcode::LOAD_CONST || next[2].opcode != Opcode::CALL ||
      next[3].opcode != Opcode::RAISE_VARARGS) {
    return nullptr;
  }
  PyObject* message = frame.code->constants[next[1].argument].get();
  return PyUnicode_CheckExact(message) ? message : nullptr;
}

// Does the code that begins there do nothing but raise, once it has made what it raises?
bool raises(const Code& code, int32_t pc) {
  constexpr int32_t kMost = 200;
  auto end = std::min(static_cast<int32_t>(code.instructions.size()), pc + kMost);
  for (; pc < end; ++pc) {
    Opcode opcode = code.instructions[pc].opcode;
    if (opcode == Opcode::RAISE_VARARGS) return true;
    bool stops = opcode == Opcode::YIELD_VALUE || opcode == Opcode::BEFORE_WITH;
    if (stops || isJump(opcode) || isTerminator(opcode)) return false;
  }
  return false;
}

}  // namespace

// Of the jump that stands there: that an array is as true as it has to be for the program not to
// raise, as an operation of the graph. Null without an exception where it decides other things; so
// it does where a handler waits for what is raised, and in a loop that may end in no other way.
Value InstructionTranslator::assertBranch(Frame& frame) {
  constexpr int32_t kMostTurns = 100;
  PyObject* message = messageOfAssertion(frame);
  // A number that varies stays one: only what nobody has looked at yet is looked at.
  Value condition = frame.peek(1);
  if (auto* lazy = trackerOf<LazyVariable>(condition)) {
    if (!lazy->realized && !message) return Value();
    condition = lazy->realized ? lazy->realized : realized(condition);
  }
  auto* array = trackerOf<TensorVariable>(condition);
  ArrayAssertion assertion = array ? findArrayAssertion(array) : nullptr;
  if (!assertion) return Value();
  const Instruction& jump = frame.instruction();
  bool staysRaises = raises(*frame.code, frame.pc + 1);
  if (staysRaises == raises(*frame.code, jump.argument)) return Value();
  if (!message && (errorsAreObserved() || ++assertedBranches_[&jump] > kMostTurns)) return Value();
  bool jumpsIfTrue = jump.opcode == Opcode::POP_JUMP_IF_TRUE;
  bool expected = jumpsIfTrue == staysRaises;
  if (!assertion(*this, array, expected, message)) return Value();
  return Value::boolean(expected);
}

bool InstructionTranslator::complete(Value result) {
  if (result.isFramePushed()) return true;
  if (!result && exceptionPending()) return false;
  Frame& frame = *frame_;
  const Instruction& instruction = frame.instruction();
  switch (instruction.opcode) {
    case Opcode::POP_JUMP_IF_TRUE:
    case Opcode::POP_JUMP_IF_FALSE: {
      bool jumps = result.is(Py_True) == (instruction.opcode == Opcode::POP_JUMP_IF_TRUE);
      frame.drop(1);
      frame.pc = jumps ? instruction.argument : frame.pc + 1;
      return true;
    }
    case Opcode::JUMP_IF_TRUE_OR_POP:
    case Opcode::JUMP_IF_FALSE_OR_POP: {
      bool jumps = result.is(Py_True) == (instruction.opcode == Opcode::JUMP_IF_TRUE_OR_POP);
      if (!jumps) frame.drop(1);
      frame.pc = jumps ? instruction.argument : frame.pc + 1;
      return true;
    }
    case Opcode::FOR_ITER:
      if (!result) {
        frame.drop(1);
        frame.pc = instruction.argument;
        return true;
      }
      frame.push(std::move(result));
      break;
    case Opcode::SEND: {
      ValueVector storage;
      llvm::ArrayRef<Value> parts;
      itemsOf(result, storage, parts);
      frame.peek(1) = parts[1];
      if (parts[0].is(Py_False)) break;
      std::swap(frame.peek(1), frame.peek(2));
      frame.drop(1);
      frame.pc = instruction.argument;
      return true;
    }
    case Opcode::UNPACK_SEQUENCE:
    case Opcode::UNPACK_EX: {
      ValueVector storage;
      llvm::ArrayRef<Value> values;
      itemsOf(result, storage, values);
      frame.drop(1);
      for (const Value& value : llvm::reverse(values)) frame.push(Value(value));
      break;
    }
    case Opcode::BEFORE_WITH:
      frame.push(std::move(result));
      break;
    case Opcode::LOAD_METHOD:
      frame.peek(1) = Value();
      frame.push(std::move(result));
      break;
    case Opcode::STORE_ATTR:
    case Opcode::DELETE_ATTR:
    case Opcode::STORE_SUBSCR:
    case Opcode::DELETE_SUBSCR:
    case Opcode::LIST_EXTEND:
    case Opcode::SET_UPDATE:
      frame.drop(operandsOf(instruction).taken);
      break;
    case Opcode::BINARY_OP:
    case Opcode::COMPARE_OP:
      frame.drop(2);
      frame.push(std::move(result));
      break;
    default:
      frame.drop(operandsOf(instruction).taken);
      frame.push(std::move(result));
      break;
  }
  ++frame.pc;
  return true;
}

bool InstructionTranslator::protocolInstruction(Frame& frame, const Instruction& instruction) {
  auto name = [&] { return frame.code->names[instruction.argument].get(); };
  switch (instruction.opcode) {
    case Opcode::LOAD_ATTR:
      return complete(getAttribute(*this, frame.peek(1), name(), true));
    case Opcode::LOAD_METHOD:
      return loadMethodInstruction(frame, name());
    case Opcode::STORE_ATTR:
      return complete(assignAttribute(*this, frame.peek(1), name(), frame.peek(2), true));
    case Opcode::DELETE_ATTR:
      return complete(assignAttribute(*this, frame.peek(1), name(), Value(), true));
    case Opcode::BINARY_SUBSCR:
      return complete(getItem(*this, frame.peek(2), frame.peek(1), true));
    case Opcode::STORE_SUBSCR:
      return complete(assignItem(*this, frame.peek(2), frame.peek(1), frame.peek(3), true));
    case Opcode::DELETE_SUBSCR:
      return complete(assignItem(*this, frame.peek(2), frame.peek(1), Value(), true));
    case Opcode::BINARY_OP:
      return complete(binaryOperation(*this, static_cast<NumberSlot>(instruction.argument),
                                      frame.peek(2), frame.peek(1), true));
    case Opcode::COMPARE_OP:
      return complete(richCompare(*this, frame.peek(2), frame.peek(1), instruction.argument, true));
    case Opcode::UNARY_POSITIVE:
      return complete(unaryOperation(*this, UnarySlot::nb_positive, frame.peek(1), true));
    case Opcode::UNARY_NEGATIVE:
      return complete(unaryOperation(*this, UnarySlot::nb_negative, frame.peek(1), true));
    case Opcode::UNARY_INVERT:
      return complete(unaryOperation(*this, UnarySlot::nb_invert, frame.peek(1), true));
    case Opcode::UNARY_NOT:
      return complete(then(*this, truth(*this, frame.peek(1), true), {OnReturn::Negate, {}}));
    case Opcode::CONTAINS_OP: {
      Value found = isContained(*this, frame.peek(1), frame.peek(2), true);
      bool isNegated = instruction.argument == 1;
      return complete(isNegated ? then(*this, std::move(found), {OnReturn::Negate, {}})
                                : std::move(found));
    }
    case Opcode::GET_YIELD_FROM_ITER:
      realizeOperand(frame, 1);
      if (typeOf(frame.peek(1)) == &PyCoro_Type) {
        // The frame whose code this is says whether it may, not the one where Python does it.
        constexpr int kMayAwait = CO_COROUTINE | CO_ITERABLE_COROUTINE;
        if (frame.code->flags & kMayAwait) return complete(frame.peek(1));
        return complete(
            raise(PyExc_TypeError,
                  "cannot 'yield from' a coroutine object in a non-coroutine generator"));
      }
      [[fallthrough]];
    case Opcode::GET_ITER:
      return complete(getIterator(*this, frame.peek(1), true));
    case Opcode::FOR_ITER:
      realizeOperand(frame, 1);
      return complete(iteratorNext(*this, frame.peek(1), true));
    case Opcode::SEND:
      realizeOperand(frame, 1);
      realizeOperand(frame, 2);
      return complete(send(frame.peek(2), frame.peek(1)));
    case Opcode::FORMAT_VALUE:
      return complete(formatted(frame, instruction));
    case Opcode::BEFORE_WITH:
      return enterContext(frame);
    case Opcode::WITH_EXCEPT_START:
      return complete(exitContext(frame));
    case Opcode::POP_JUMP_IF_TRUE:
    case Opcode::POP_JUMP_IF_FALSE:
      if (Value asserted = assertBranch(frame)) return complete(std::move(asserted));
      if (exceptionPending()) return false;
      return complete(truth(*this, frame.peek(1), true));
    default:  // the other conditional jumps
      return complete(truth(*this, frame.peek(1), true));
  }
}

bool InstructionTranslator::loadMethodInstruction(Frame& frame, PyObject* name) {
  // A method of a value that varied may take it as it is.
  if (!computableMethod(*this, frame.peek(1), name)) realizeOperand(frame, 1);
  Value function;
  if (!loadMethod(*this, frame.peek(1), name, function, true)) return complete(std::move(function));
  if (!function) return false;
  Value self = std::move(frame.peek(1));
  frame.peek(1) = std::move(function);
  frame.push(std::move(self));
  ++frame.pc;
  return true;
}

Value InstructionTranslator::formatted(Frame& frame, const Instruction& instruction) {
  bool hasSpecification = (instruction.argument & 4) != 0;
  Value value = frame.peek(hasSpecification ? 2 : 1);
  Value computed = computedText(*this, "\0sra"[instruction.argument & 3], value,
                                hasSpecification ? frame.peek(1) : Value());
  if (computed) return computed;
  switch (instruction.argument & 3) {
    case 1:
      value = toStr(*this, value, !hasSpecification);
      break;
    case 2:
      value = toRepr(*this, value, !hasSpecification);
      break;
    case 3:
      value = toAscii(*this, value);
      break;
    default:
      break;
  }
  if (value.isFramePushed()) return then(*this, std::move(value), {OnReturn::Format, {}});
  if (!value) return value;
  return formatValue(*this, value, hasSpecification ? frame.peek(1) : Value(), true);
}

bool InstructionTranslator::enterContext(Frame& frame) {
  static PyObject* const enterName = staticName("__enter__");
  static PyObject* const exitName = staticName("__exit__");
  realizeOperand(frame, 1);
  Value manager = frame.peek(1);
  if (Value adopted = adoptManager(*this, manager)) manager = std::move(adopted);
  if (auto* modelled = trackerOf<ContextManagerVariable>(manager)) {
    Value entered = modelled->model.enter(*this, *modelled);
    if (!entered) return false;
    frame.peek(1) = make<ContextExitVariable>(modelled);
    return complete(std::move(entered));
  }
  Value enter = lookupSpecial(*this, manager, enterName);
  Value exit = enter ? lookupSpecial(*this, manager, exitName) : Value();
  if (!enter || !exit) {
    if (!exceptionPending()) {
      raise(PyExc_TypeError,
            enter ? "'%.200s' object does not support the context manager protocol (missed "
                    "__exit__ method)"
                  : "'%.200s' object does not support the context manager protocol",
            typeOf(manager)->tp_name);
    }
    return false;
  }
  Value entered = call(*this, enter, llvm::ArrayRef<Value>(), true);
  if (!entered) return false;
  (entered.isFramePushed() ? frame_->contextExit : frame.peek(1)) = std::move(exit);
  return complete(std::move(entered));
}

// The stack: __exit__, lasti, previous exc_info, exception.
Value InstructionTranslator::exitContext(Frame& frame) {
  if (trackerOf<ContextExitVariable>(frame.peek(4))) {
    Value result = call(*this, frame.peek(4), llvm::ArrayRef<Value>());
    return result ? Value::none() : result;
  }
  realizeOperand(frame, 1);
  Value exception = frame.peek(1);
  Value type = typeValue(*this, exception);
  auto* raised = trackerOf<ExceptionVariable>(exception);
  if (!raised) throw GraphBreak(GraphBreakKind::ExistingException, describe(exception));
  Value traceback = tracebackOf(*this, *raised);
  if (!traceback) traceback = Value::none();
  return call(*this, frame.peek(4), {type, exception, std::move(traceback)}, true);
}

}  // namespace armature
