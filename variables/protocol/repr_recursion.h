// repr() of containers.
#pragma once

#include "variables/value.h"

namespace armature {

// Py_ReprEnter and Py_ReprLeave: a container that is being written already is not written again.
class ReprRecursion {
 public:
  explicit ReprRecursion(const Value& self);
  ~ReprRecursion();
  ReprRecursion(const ReprRecursion&) = delete;
  ReprRecursion& operator=(const ReprRecursion&) = delete;
  bool entered() const { return entered_; }

 private:
  bool entered_;
};

}  // namespace armature
