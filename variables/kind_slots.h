// The slot table of each kind of variable, defined in the file of the kind, and that of constants.
#pragma once

#include "variables/type_slots.h"

namespace armature {

#define KIND(name) extern const TypeSlots k##name##Slots;
#include "variables/variable_kinds.def"
extern const TypeSlots kConstantSlots;

}  // namespace armature
