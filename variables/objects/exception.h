// An exception instance that the trace made, or that a constant operation raised.
#pragma once

#include "bytecode/code.h"
#include "variables/containers/dict.h"
#include "variables/containers/sequence.h"
#include "variables/variable_tracker.h"

namespace armature {

class ExceptionVariable : public VariableTracker {
 public:
  ARMATURE_KIND(Exception)
  // `classVariable`: the class as the program reached it (a constant for builtin exceptions).
  ExceptionVariable(PyTypeObject* type, Value classVariable, ValueVector arguments)
      : VariableTracker(VariableKind::Exception, type),
        classVariable(std::move(classVariable)),
        arguments(std::move(arguments)) {}

  const Value classVariable;
  ValueVector arguments;  // args
  // All trailed. Null: not set.
  Value cause;
  Value context;
  bool suppressContext = false;
  // Attributes set by the program or by a Python __init__; made on demand.
  DictVariable* dict = nullptr;
  // The real exception, where a CPython call raised it: it has attributes of its own
  // (StopIteration.value, KeyError's key, OSError.errno …).
  Ref<> real;
  // The instruction that raised it, or that called what did, in the outermost frame that it has
  // reached so far. Trailed. Null: it was not raised yet.
  const Code* raisedIn = nullptr;
  int32_t raisedAt = 0;
};

}  // namespace armature
