// How much of the thread's stack is left.
#pragma once

#include <cstdint>

namespace armature {

// The stack of the thread that makes the object; to be asked on that thread only.
class NativeStack {
 public:
  NativeStack();
  // Less is left than what calls of CPython, and whatever catches an exception, may need.
  bool isNearlyFull() const {
    return reinterpret_cast<uintptr_t>(__builtin_frame_address(0)) < lowest_;
  }

 private:
  uintptr_t lowest_;
};

}  // namespace armature
