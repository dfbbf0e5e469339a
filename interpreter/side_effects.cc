#include "interpreter/side_effects.h"

#include <algorithm>

namespace armature {

void SideEffects::record(Trail& trail, VariableTracker* tracker) {
  if (std::find(mutated_.begin(), mutated_.end(), tracker) != mutated_.end()) return;
  static constexpr Trail::Operation kGrowth = {
      [](void* effects, uintptr_t) { static_cast<SideEffects*>(effects)->mutated_.pop_back(); },
      nullptr};
  trail.record(kGrowth, this, 0);
  mutated_.push_back(tracker);
}

}  // namespace armature
