// An input that the program has not looked at: it can be moved about, stored and returned without
// any guard on it.
#pragma once

#include "variables/variable_tracker.h"

namespace armature {

class LazyVariable : public VariableTracker {
 public:
  ARMATURE_KIND(Lazy)
  LazyVariable(const Source* source, BorrowedRef<> existing)
      : VariableTracker(VariableKind::Lazy, Py_TYPE(existing.get()), source, existing) {}

  // What it turned out to be; null before anyone looked. Trailed.
  Value realized;
};

}  // namespace armature
