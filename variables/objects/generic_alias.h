// Parametrized classes: list[int], an instance of types.GenericAlias or of a class below it.
#pragma once

#include "variables/variable_tracker.h"

namespace armature {

class Translator;

class GenericAliasVariable : public VariableTracker {
 public:
  ARMATURE_KIND(GenericAlias)
  GenericAliasVariable(Value origin, Value arguments, PyTypeObject* type = &Py_GenericAliasType)
      : VariableTracker(VariableKind::GenericAlias, type),
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
