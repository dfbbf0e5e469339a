// functools.partial objects.
#pragma once

#include "variables/containers/dict.h"
#include "variables/translator.h"

namespace armature {

// One of exactly that type, or the builtin part of an instance of a subclass. One that existed
// before the trace has lazy parts.
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
  // Its __dict__; made on demand. Of a part, the instance has it.
  DictVariable* dict = nullptr;
};

// functools.partial, borrowed; null where a program has put something else in its place.
PyTypeObject* partialType();

// What partial.__new__(type, …) makes of the arguments behind the type; null with an exception.
PartialVariable* makePartial(Translator& translator, PyTypeObject* type, CallArguments& given);

}  // namespace armature
