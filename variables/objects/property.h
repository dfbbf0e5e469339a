// property, staticmethod and classmethod objects that the trace makes, and the fields of named
// tuples.
#pragma once

#include <array>

#include "variables/translator.h"
#include "variables/variable_tracker.h"

namespace armature {

class PropertyVariable : public VariableTracker {
 public:
  ARMATURE_KIND(Property)
  // `type`: one of the four. What is not given is None.
  PropertyVariable(PyTypeObject* type, std::array<Value, 4> parts, bool showsFunction = true)
      : VariableTracker(VariableKind::Property, type),
        parts(std::move(parts)),
        showsFunction(showsFunction) {}
  // fget, fset, fdel and the doc of a property; the index and the doc of a field; __func__ of the
  // others.
  const std::array<Value, 4> parts;
  // Has it the name and the other attributes of its function? type.__new__ makes some without.
  const bool showsFunction;

  size_t partCount() const;
};

// What type.__new__ makes of functions of some names.
Value makeStaticMethod(Translator& translator, const Value& function);
Value makeClassMethod(Translator& translator, const Value& function);

}  // namespace armature
