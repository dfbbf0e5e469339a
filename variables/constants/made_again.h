// A constant that the trace has made and that the program can tell from the one of another call, as
// codegen makes it: by its maker.
#pragma once

#include <utility>

#include "variables/variable_tracker.h"

namespace armature {

class MadeAgainVariable : public VariableTracker {
 public:
  ARMATURE_KIND(MadeAgain)
  MadeAgainVariable(PyTypeObject* type, Ref<> maker)
      : VariableTracker(VariableKind::MadeAgain, type), maker(std::move(maker)) {}
  const Ref<> maker;  // ConstantType::maker's; null: none
};

}  // namespace armature
