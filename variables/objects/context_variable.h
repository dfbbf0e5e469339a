// contextvars.ContextVar: what it has in the context of the running thread.
//
// get() reads it, and that it is set or not is guarded. set() is an effect, which making the Token
// performs; reset() with a token of the trace takes back the effects since.
#pragma once

#include "variables/objects/user_defined.h"

namespace armature {

class ContextTokenVariable;

// One that existed before the trace.
class ContextVarVariable : public OpaqueVariable {
 public:
  static bool classof(const VariableTracker* tracker) {
    return OpaqueVariable::classof(tracker) && tracker->existing() &&
           tracker->type() == &PyContextVar_Type;
  }
  using OpaqueVariable::OpaqueVariable;
  // Of the last set() of the trace that stands; null where none does. Trailed.
  ContextTokenVariable* token = nullptr;
};

// What set() has given.
class ContextTokenVariable : public OpaqueVariable {
 public:
  static bool classof(const VariableTracker* tracker) {
    return OpaqueVariable::classof(tracker) && !tracker->existing() &&
           tracker->type() == &PyContextToken_Type;
  }
  ContextTokenVariable(ContextVarVariable* variable, Value value)
      : OpaqueVariable(&PyContextToken_Type),
        variable(variable),
        value(std::move(value)),
        previous(variable->token) {}
  ContextVarVariable* const variable;
  const Value value;
  ContextTokenVariable* const previous;
  int32_t effect = -1;  // its record
  bool isUsed = false;  // trailed
};

// A method of a variable, or what a variable or token is made of; null, with nothing pending, for
// other attributes.
Value contextAttribute(Translator& translator, const Value& self, PyObject* name);

}  // namespace armature
