// types.MappingProxyType, and what a class's __dict__ is.
#pragma once

#include "variables/translator.h"
#include "variables/variable_tracker.h"

namespace armature {

class MappingProxyVariable : public VariableTracker {
 public:
  ARMATURE_KIND(MappingProxy)
  explicit MappingProxyVariable(Value mapping, const Source* source = nullptr,
                                BorrowedRef<> existing = nullptr)
      : VariableTracker(VariableKind::MappingProxy, &PyDictProxy_Type, source, existing),
        mapping(std::move(mapping)) {}
  const Value mapping;
};

// type.__dict__ of a class: a new proxy of its dict.
Value classDict(Translator& translator, PyTypeObject* type);

}  // namespace armature
