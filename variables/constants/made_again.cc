#include "variables/constants/made_again.h"

#include "variables/kind_slots.h"

namespace armature {

// The program never meets it: to the trace, it is the constant.
const TypeSlots kMadeAgainSlots = {};

}  // namespace armature
