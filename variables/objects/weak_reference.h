// weakref.ref: references that hold nothing.
//
// A trace counts no references. It calls those to objects that existed before it, while the program
// can have let go of nothing; else Python is asked.
#pragma once

#include "cpython/weak_references.h"
#include "variables/objects/user_defined.h"

namespace armature {

// One without a callback that the trace makes of an object that existed before.
class NewWeakReferenceVariable : public OpaqueVariable {
 public:
  static bool classof(const VariableTracker* tracker) {
    return OpaqueVariable::classof(tracker) && !tracker->existing() &&
           tracker->type() == cpython::weakReferenceType();
  }
  explicit NewWeakReferenceVariable(Value referent)
      : OpaqueVariable(cpython::weakReferenceType()), referent(std::move(referent)) {}
  const Value referent;  // realized
};

// The object that existed before to which such a reference refers; null for any other value.
// As a key, the reference goes by which object that is.
PyObject* referentOfMade(const Value& value);

// Two references of which the trace has made one, or both.
bool mayBeSameReferences(const Value& left, const Value& right);
// An object has one without a callback for as long as that lives, which both here do.
bool areSameReferences(Translator& translator, const Value& left, const Value& right);

}  // namespace armature
