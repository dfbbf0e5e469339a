// NumPy's global state, as far as traces depend on it: what floating-point errors do
// (numpy.errstate, numpy.seterr).
#pragma once

#include <string>

#include "core/ref.h"

namespace armature {

class NumPyState {
 public:
  explicit NumPyState(Ref<> numpy);

  std::string capture() const;
  bool matches(const std::string& state) const;
  std::string explain(const std::string& state) const;

 private:
  int errorMask() const;

  // NumPy 2 keeps the modes in a context variable. Null, and the state is empty, where that is not
  // what we know.
  Ref<> variable_;
};

}  // namespace armature
