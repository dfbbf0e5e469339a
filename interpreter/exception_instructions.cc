// raise, try, with.
#include "core/checked.h"
#include "interpreter/instruction_translator.h"
#include "variables/containers/sequence.h"
#include "variables/functions/builtin_handlers.h"
#include "variables/objects/context_manager.h"
#include "variables/objects/exception.h"
#include "variables/objects/exception_group.h"
#include "variables/objects/user_defined.h"
#include "variables/protocol/object_protocol.h"
#include "variables/trailed.h"

namespace armature {

namespace {

// An exception class as a value: calls it; an instance stays what it is.
Value instantiate(Translator& translator, Value value) {
  translator.realize(value);
  if (trackerOf<ExceptionVariable>(value)) return value;
  if (isExceptionClass(value)) {
    Value made = translator.realized(call(translator, value, llvm::ArrayRef<Value>()));
    if (!made || isException(made)) return made;
    throw GraphBreak(GraphBreakKind::ExistingException, describe(value));
  }
  if (isException(value)) {
    throw GraphBreak(GraphBreakKind::ExistingException, describe(value));
  }
  return translator.raise(PyExc_TypeError, "exceptions must derive from BaseException");
}

}  // namespace

bool InstructionTranslator::raiseInstruction(Frame& frame, const Instruction& instruction) {
  if (instruction.opcode == Opcode::RERAISE) {
    setException(frame.peek(1));
    raisedAgain_ = true;
    return false;
  }
  if (instruction.argument == 0) {
    Value handled = handledException();
    if (handled.is(Py_None)) {
      raise(PyExc_RuntimeError, "No active exception to reraise");
      return false;
    }
    setException(std::move(handled));
    raisedAgain_ = true;
    return false;
  }
  bool hasCause = instruction.argument == 2;
  Value exception = instantiate(*this, frame.peek(hasCause ? 2 : 1));
  if (!exception) return false;
  if (hasCause) {
    auto* raised = trackerOf<ExceptionVariable>(exception);
    if (!raised) throw GraphBreak(GraphBreakKind::ExistingException, describe(exception));
    Value cause = realized(frame.peek(1));
    if (!cause.is(Py_None)) {
      if (!isException(cause)) {
        raise(PyExc_TypeError, "exception causes must derive from BaseException");
        return false;
      }
      cause = instantiate(*this, cause);
      if (!cause) return false;
    }
    setCause(*this, *raised, std::move(cause));
  }
  raiseValue(std::move(exception));
  return false;
}

// What the first handler of the trace puts aside: nothing, in a generator's frame; else what the
// caller of the traced function handles. Nothing depends on what that is until somebody looks.
Value InstructionTranslator::handledOutside() {
  if (runningGenerator_) return Value::none();
  Ref<> handled = Ref<>::steal(PyErr_GetHandledException());
  return wrap(sources->handledException(), handled ? handled.get() : Py_None);
}

bool InstructionTranslator::exceptionInstruction(Frame& frame, const Instruction& instruction) {
  switch (instruction.opcode) {
    case Opcode::PUSH_EXC_INFO: {
      Value before = handled_ ? handled_ : handledOutside();
      Value exception = frame.pop();
      if (frame.openHandlers++ == 0) frame.handledBefore = handled_;
      frame.push(std::move(before));
      frame.push(Value(exception));
      handled_ = std::move(exception);
      return true;
    }
    case Opcode::POP_EXCEPT: {
      Value previous = frame.pop();
      handled_ = --frame.openHandlers > 0 ? std::move(previous) : frame.handledBefore;
      return true;
    }
    case Opcode::LOAD_ASSERTION_ERROR:
      frame.push(Value::constant(PyExc_AssertionError));
      return true;
    case Opcode::CHECK_EXC_MATCH: {
      ValueVector classes;
      if (!readHandledClasses(*this, frame.peek(1), classes)) return false;
      realizeOperand(frame, 2);
      bool matches = false;
      for (const Value& each : classes) matches |= isOfClass(*this, frame.peek(2), each);
      frame.peek(1) = Value::boolean(matches);
      return true;
    }
    case Opcode::CHECK_EG_MATCH: {
      realizeOperand(frame, 2);
      Value match, rest;
      if (!matchGroup(*this, frame.peek(2), frame.peek(1), match, rest)) return false;
      if (!match.is(Py_None)) {
        frame.peek(2) = std::move(rest);
        handled_ = match;
      }
      frame.peek(1) = std::move(match);
      return true;
    }
    default: {  // PREP_RERAISE_STAR
      realizeOperand(frame, 2);
      ValueVector raised;
      iterateInto(*this, frame.peek(1), raised);
      Value left = prepareReraise(*this, frame.peek(2), raised);
      if (!left) return false;
      frame.drop(1);
      frame.peek(1) = std::move(left);
      return true;
    }
  }
}

}  // namespace armature
