// Which objects that existed before the trace has it changed, in the order of first effect.
#pragma once

#include <vector>

#include "core/trail.h"
#include "variables/variable_tracker.h"

namespace armature {

class SideEffects {
 public:
  void record(Trail& trail, VariableTracker* tracker);

  // Pre-existing lists, dicts (also the __dict__ of objects and globals), sets, cells, objects with
  // slots, and tensors mutated in place.
  const std::vector<VariableTracker*>& mutated() const { return mutated_; }
  bool empty() const { return mutated_.empty(); }

 private:
  std::vector<VariableTracker*> mutated_;
};

}  // namespace armature
