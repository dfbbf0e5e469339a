// functools.partial objects.
#pragma once

#include "variables/variable_tracker.h"

namespace armature {

// Of exactly that type. One that existed before the trace has lazy parts.
class PartialVariable : public VariableTracker {
 public:
  ARMATURE_KIND(Partial)
  PartialVariable(PyTypeObject* type, Value function, Value arguments, Value keywords,
                  const Source* source = nullptr, BorrowedRef<> existing = nullptr)
      : VariableTracker(VariableKind::Partial, type, source, existing),
        function(std::move(function)),
        arguments(std::move(arguments)),
        keywords(std::move(keywords)) {}
  const Value function;
  const Value arguments;  // a tuple
  const Value keywords;   // a dict
};

// functools.partial, borrowed; null where a program has put something else in its place.
PyTypeObject* partialType();

}  // namespace armature
