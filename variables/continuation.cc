#include "variables/continuation.h"

#include "variables/containers/composed_iterators.h"
#include "variables/functions/functions.h"
#include "variables/loops.h"
#include "variables/objects/user_defined.h"
#include "variables/protocol/attribute_protocol.h"
#include "variables/protocol/object_protocol.h"

namespace armature {

namespace {

bool raised(Translator& translator, PyObject* type) {
  return translator.exceptionPending() &&
         translator.heap.isSubtype(typeOf(translator.realized(translator.exception())),
                                   reinterpret_cast<PyTypeObject*>(type));
}

// Makes again what callNew() of class_call.cc has put into the operands.
Value initializeMade(Translator& translator, llvm::ArrayRef<Value> operands, Value made,
                     bool tail) {
  CallArguments arguments;
  if (!operands[1].is(Py_None)) arguments.keywordNames = operands[1].object();
  if (!operands[2].is(Py_None)) arguments.tuple = operands[2];
  arguments.values.append(operands.begin() + 3, operands.end());
  arguments.tail = tail;
  return initializeMade(translator, operands[0], std::move(made), arguments);
}

int numberOf(const Value& value) { return static_cast<int>(PyLong_AsLong(value.object())); }

PyObject* nameIn(const Continuation& continuation) { return continuation.operands[1].object(); }

// Of the steps that deal with what was returned.
Value continueReturned(Translator& translator, const Continuation& continuation, Value result,
                       bool tail) {
  const auto& operands = continuation.operands;
  switch (continuation.kind) {
    case OnReturn::CheckInit:
      if (translator.realized(result).is(Py_None)) return operands[0];
      return translator.raise(PyExc_TypeError, "__init__() should return None, not '%.200s'",
                              nameOf(translator, translator.realized(result)));
    case OnReturn::CheckBool:
      return checkBool(translator, std::move(result));
    case OnReturn::CheckHash:
      return checkHash(translator, std::move(result));
    case OnReturn::CheckIndex:
      return checkInt(translator, std::move(result), "__index__ returned non-int (type %.200s)");
    case OnReturn::CheckInt:
      return checkInt(translator, std::move(result), "__int__ returned non-int (type %.200s)");
    case OnReturn::CheckFloat:
      return checkFloat(translator, operands[0], std::move(result));
    case OnReturn::CheckLength:
      return checkLength(translator, std::move(result));
    case OnReturn::CheckIterator:
      return checkIterator(translator, std::move(result));
    case OnReturn::CheckStr:
      return checkText(translator, std::move(result), "__str__ returned non-string (type %.200s)");
    case OnReturn::CheckRepr:
      return checkText(translator, std::move(result), "__repr__ returned non-string (type %.200s)");
    case OnReturn::CheckFormat:
      return checkText(translator, std::move(result), "__format__ must return a str, not %.200s");
    case OnReturn::Truth:
      return truth(translator, std::move(result), tail);
    case OnReturn::Format:
      return formatValue(translator, std::move(result), Value(), tail);
    case OnReturn::Negate:
      return Value::boolean(result.is(Py_False));
    case OnReturn::Differ: {
      translator.realize(result);
      if (result.is(Py_NotImplemented)) return result;
      Value equal = truth(translator, std::move(result), false);
      return equal ? Value::boolean(equal.is(Py_False)) : equal;
    }
    case OnReturn::InitMade:
      return initializeMade(translator, operands, std::move(result), tail);
    case OnReturn::NextOperand:
      translator.realize(result);
      if (!result.is(Py_NotImplemented)) return result;
      return askOperands(translator, static_cast<NumberSlot>(numberOf(operands[2])), operands[0],
                         operands[1], static_cast<OperandStep>(numberOf(operands[3])), tail);
    case OnReturn::NextComparison:
      translator.realize(result);
      if (!result.is(Py_NotImplemented)) return result;
      return askComparison(translator, operands[0], operands[1], numberOf(operands[2]),
                           static_cast<ComparisonStep>(numberOf(operands[3])), tail);
    case OnReturn::NextKey:
      return goOnWithKeys(translator, operands, std::move(result), tail);
    case OnReturn::NextOrder:
      return goOnWithOrder(translator, operands, std::move(result), tail);
    case OnReturn::NextStep:
      return goOnWithStep(translator, operands, std::move(result), tail);
    case OnReturn::NextEqual:
      return goOnSearching(translator, operands, std::move(result), tail);
    case OnReturn::NextClass:
      if (result.is(Py_True)) return result;
      return askClasses(translator, operands[0], operands[1], operands[2].is(Py_True), tail);
    case OnReturn::CallStarred:
      return callStarred(translator, operands, result, tail);
    case OnReturn::NextExtreme:
      return goOnWithExtreme(translator, operands, std::move(result), tail);
    case OnReturn::NextReduction:
      return goOnReducing(translator, operands, std::move(result), tail);
    case OnReturn::NextItem:
      return goOnWithItems(translator, operands, std::move(result), tail);
    case OnReturn::Give:
      return operands[0];
    case OnReturn::LeaveGenerator:
      return leaveGenerator(translator, operands[0], std::move(result));
    case OnReturn::EndDelegation:
      return endDelegation(translator, std::move(result));
    case OnReturn::Instead:
    case OnReturn::StopAtEnd:
    case OnReturn::EndIteration:
    case OnReturn::AskGetattr:
    case OnReturn::TellAttribute:
      return result;
  }
  return result;  // not reached: the switch is complete
}

}  // namespace

bool catches(Translator& translator, const Continuation& continuation) {
  switch (continuation.kind) {
    case OnReturn::EndIteration:
    case OnReturn::EndDelegation:
      return raised(translator, PyExc_StopIteration);
    case OnReturn::AskGetattr:
      return raised(translator, PyExc_AttributeError);
    case OnReturn::Instead:
      return raised(translator, continuation.operands[0].object());
    case OnReturn::StopAtEnd:
      return !continuation.operands.empty() && raised(translator, PyExc_StopIteration);
    case OnReturn::NextStep:
      return endsByStop(continuation.operands) && raised(translator, PyExc_StopIteration);
    default:
      return false;
  }
}

Value continueWith(Translator& translator, const Continuation& continuation, Value result,
                   bool tail) {
  if (result) return continueReturned(translator, continuation, std::move(result), tail);
  if (continuation.kind == OnReturn::TellAttribute) {
    if (raised(translator, PyExc_AttributeError)) {
      tellAttribute(translator, continuation.operands[0], nameIn(continuation));
    }
  } else if (continuation.kind == OnReturn::NextKey) {
    giveUpKeys(translator, continuation.operands);
  } else if (continuation.kind == OnReturn::NextOrder) {
    return goOnWithOrder(translator, continuation.operands, Value(), tail);
  } else if (continuation.kind == OnReturn::NextStep && !translator.exceptionPending()) {
    return goOnWithStep(translator, continuation.operands, Value(), tail);
  } else if (continuation.kind == OnReturn::StopAtEnd && !translator.exceptionPending()) {
    const auto& operands = continuation.operands;
    return operands.empty() ? translator.raiseWithArguments(PyExc_StopIteration, {}) : operands[0];
  } else if (continuation.kind == OnReturn::LeaveGenerator) {
    return leaveGenerator(translator, continuation.operands[0], Value());
  } else if (continuation.kind == OnReturn::EndDelegation) {
    return endDelegation(translator, Value());
  } else if (continuation.kind == OnReturn::NextItem && !translator.exceptionPending()) {
    return goOnWithItems(translator, continuation.operands, Value(), tail);
  } else if (continuation.kind == OnReturn::NextExtreme && !translator.exceptionPending()) {
    return goOnWithExtreme(translator, continuation.operands, Value(), tail);
  } else if (continuation.kind == OnReturn::NextReduction && !translator.exceptionPending()) {
    return goOnReducing(translator, continuation.operands, Value(), tail);
  } else if (catches(translator, continuation)) {
    if (continuation.kind == OnReturn::AskGetattr) {
      return askGetattr(translator, continuation.operands[0], nameIn(continuation), tail);
    }
    translator.dropException();
    if (continuation.kind == OnReturn::Instead) return continuation.operands[1];
    if (continuation.kind == OnReturn::StopAtEnd) return continuation.operands[0];
    if (continuation.kind == OnReturn::NextStep) {
      return endStep(translator, continuation.operands);
    }
  }
  return Value();
}

Value then(Translator& translator, Value result, Continuation continuation, bool tail) {
  if (!result.isFramePushed()) {
    return continueWith(translator, continuation, std::move(result), tail);
  }
  translator.onReturn(std::move(continuation));
  return result;
}

}  // namespace armature
