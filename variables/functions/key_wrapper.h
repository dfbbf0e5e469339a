// functools.KeyWrapper: what cmp_to_key() gives, which is called with an object, and the key that
// this makes of it (Modules/_functoolsmodule.c).
#pragma once

#include "variables/value.h"
#include "variables/variable_tracker.h"

namespace armature {

class KeyWrapperVariable : public VariableTracker {
 public:
  ARMATURE_KIND(KeyWrapper)
  KeyWrapperVariable(PyTypeObject* type, Value comparison, Value object)
      : VariableTracker(VariableKind::KeyWrapper, type),
        comparison(std::move(comparison)),
        object(std::move(object)) {}
  const Value comparison;
  const Value object;  // null in what cmp_to_key() gives
};

// functools.cmp_to_key, borrowed; null where a program has put something else in its place.
PyObject* comparisonToKey();

}  // namespace armature
