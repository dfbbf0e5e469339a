// property, staticmethod and classmethod objects that the trace makes.
#pragma once

#include <array>

#include "variables/translator.h"
#include "variables/variable_tracker.h"

namespace armature {

class PropertyVariable : public VariableTracker {
 public:
  ARMATURE_KIND(Property)
  // `type`: one of the three. What is not given is None.
  PropertyVariable(PyTypeObject* type, std::array<Value, 4> parts)
      : VariableTracker(VariableKind::Property, type), parts(std::move(parts)) {}
  // fget, fset, fdel and the doc of a property; __func__ of the others.
  const std::array<Value, 4> parts;
};

Value makeStaticMethod(Translator& translator, const Value& function);
Value makeClassMethod(Translator& translator, const Value& function);

}  // namespace armature
