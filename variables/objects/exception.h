// Exception instances: those that the trace made, that a constant operation raised, and those that
// existed before.
#pragma once

#include <llvm/ADT/ArrayRef.h>

#include <optional>
#include <vector>

#include "bytecode/code.h"
#include "variables/containers/dict.h"
#include "variables/containers/sequence.h"
#include "variables/variable_tracker.h"

namespace armature {

struct CallArguments;

// The fields that a builtin class of exceptions adds to BaseException's, in the order in which
// ExceptionVariable::members has them.
struct ExceptionFields {
  PyTypeObject* owner = nullptr;  // whose member descriptors they are; null: there are none
  llvm::ArrayRef<const char*> names;
};
ExceptionFields fieldsOf(PyTypeObject* type);

class ExceptionVariable : public VariableTracker {
 public:
  ARMATURE_KIND(Exception)
  // `classVariable`: the class as the program reached it (a constant for builtin exceptions).
  ExceptionVariable(PyTypeObject* type, Value classVariable, ValueVector arguments);
  // One that existed before.
  ExceptionVariable(const Source* source, BorrowedRef<> existing, Value classVariable);

  const Value classVariable;
  // args. All that follows is trailed. Of an exception that existed before, it is what the trace
  // has written, or has looked at; the functions below look.
  ValueVector arguments;
  bool knowsArguments = true;
  // The tuple of them that the program has seen or given; null: none.
  Value argumentsTuple;
  // Null: not set.
  std::vector<Value> members;  // OSError.errno, StopIteration.value, …: see fieldsOf
  Value cause;
  Value context;
  Value traceback;
  // On its way to a handler, behind the first frame: the traceback with which it set out. See
  // Translator::dropException. Not trailed: whatever raises it again forgets it.
  std::optional<Value> tracebackWhenRaised;
  bool suppressContext = false;
  bool knowsSuppressContext = true;
  // It was raised where the trace handled nothing: what the caller of the traced function handles
  // becomes its context once somebody can see that. See settleContext.
  bool contextIsCallers = false;
  // Attributes set by the program or by a Python __init__; made on demand.
  DictVariable* dict = nullptr;
};

// --- What an exception has, null for what is not set. What existed before is read, and guarded
// once somebody looks at the value.
const ValueVector& argumentsOf(Translator& translator, ExceptionVariable& exception);
// args, one object until they are set.
const Value& argumentsTupleOf(Translator& translator, ExceptionVariable& exception);
Value fieldValue(Translator& translator, const ExceptionVariable& exception, size_t index);
Value causeOf(Translator& translator, const ExceptionVariable& exception);
Value contextOf(Translator& translator, const ExceptionVariable& exception);
Value tracebackOf(Translator& translator, const ExceptionVariable& exception);
Value suppressContextOf(Translator& translator, const ExceptionVariable& exception);

// Its __dict__, made on demand.
DictVariable* exceptionDict(Translator& translator, const Value& self);

// --- Changes of it, which are effects on what existed before. Null, or None: nothing.
// `tuple`: the object that has the arguments, or null for a new one.
void setArguments(Translator& translator, ExceptionVariable& exception, ValueVector arguments,
                  Value tuple = {});
void setField(Translator& translator, ExceptionVariable& exception, size_t index, Value value);
// `raise … from cause`: suppresses the context, too.
void setCause(Translator& translator, ExceptionVariable& exception, Value cause);
void setContext(Translator& translator, ExceptionVariable& exception, Value context);
void setTraceback(Translator& translator, ExceptionVariable& exception, Value traceback);
void setSuppressContext(Translator& translator, ExceptionVariable& exception, bool suppressed);

// A class of exceptions; that, or an instance of one.
bool isExceptionClass(const Value& value);
bool isException(const Value& value);
// The classes that `except` names: one, or a tuple of them (check_except_type_valid of ceval.c).
// False with the TypeError pending.
bool readHandledClasses(Translator& translator, const Value& wanted, ValueVector& classes);
// PyErr_GivenExceptionMatches for one class of exceptions, which asks no metaclass.
bool isOfClass(Translator& translator, const Value& exception, const Value& exceptionClass);

// _PyErr_SetObject's part: what is `handled` becomes the context of the exception raised. Null:
// the trace handles nothing.
void chainContext(Translator& translator, ExceptionVariable& raised, const Value& handled);
// Before the context can be seen: see contextIsCallers.
void settleContext(Translator& translator, ExceptionVariable& raised);

// StopIteration.value of an exception that is one.
Value stopIterationValue(Translator& translator, const Value& exception);

// What a call of a class of exceptions makes whose __new__ is `newOwner`'s and whose __init__
// `initOwner`'s, both builtin classes; a null `initOwner` leaves __init__ to the caller. The real
// functions do it, on stand-ins for what is no constant. Null with the exception pending.
Value constructException(Translator& translator, const Value& classVariable, PyTypeObject* type,
                         PyTypeObject* newOwner, PyTypeObject* initOwner,
                         const CallArguments& arguments);
// initOwner.__init__(exception, …). False with an exception pending.
bool initializeException(Translator& translator, ExceptionVariable& exception,
                         PyTypeObject* initOwner, const CallArguments& arguments);
// A real exception of the builtin class below the exception's own, with the same args and fields.
// Null where they are not all data.
Ref<> realException(Translator& translator, ExceptionVariable& exception);
// What the trace knows of a real exception that is not the program's.
ExceptionVariable* tracedException(Translator& translator, PyObject* real);

}  // namespace armature
