// Parametrized classes: list[int], an instance of types.GenericAlias.
#pragma once

#include "variables/variable_tracker.h"

namespace armature {

class Translator;

class GenericAliasVariable : public VariableTracker {
 public:
  ARMATURE_KIND(GenericAlias)
  GenericAliasVariable(Value origin, Value arguments)
      : VariableTracker(VariableKind::GenericAlias, &Py_GenericAliasType),
        origin(std::move(origin)),
        arguments(std::move(arguments)) {}
  const Value origin;     // the class
  const Value arguments;  // a tuple
};

// Does a subscript of the builtin class do nothing but make an alias?
bool isSubscriptedForAlias(Translator& translator, PyObject* type);
// origin[key]
Value makeGenericAlias(Translator& translator, const Value& origin, const Value& key);

}  // namespace armature
