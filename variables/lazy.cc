#include "variables/lazy.h"

#include "variables/kind_slots.h"

namespace armature {

// Never consulted: every algorithm of the object protocol realizes its operands first.
const TypeSlots kLazySlots = {};

}  // namespace armature
