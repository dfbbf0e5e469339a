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
  // Does an error call a function, print or log, which the program can tell the time of?
  bool isHeard() const;

 private:
  int errorMask() const;
  static int maskIn(const std::string& state);

  // NumPy 2 keeps the modes in a context variable. Null, and the state is empty, where that is not
  // what we know.
  Ref<> variable_;
  // What the variable held when it was last read, which never changes, and the modes in it.
  mutable Ref<> read_;
  mutable int mask_ = -1;
};

}  // namespace armature
