#include "variables/variable_tracker.h"

#include "variables/kind_slots.h"

namespace armature {

const char* variableKindName(VariableKind kind) {
  static constexpr const char* kNames[] = {
#define KIND(name) #name "Variable",
#include "variables/variable_kinds.def"
  };
  return kNames[static_cast<size_t>(kind)];
}

const TypeSlots& VariableTracker::slots() const {
  static constexpr const TypeSlots* kTables[] = {
#define KIND(name) &k##name##Slots,
#include "variables/variable_kinds.def"
  };
  return *kTables[static_cast<size_t>(kind_)];
}

}  // namespace armature
