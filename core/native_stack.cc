#include "core/native_stack.h"

#include <pthread.h>

#include <algorithm>
#include <cstddef>

namespace armature {

namespace {

// The lowest address to which the stack may grow with room to spare; 0 where it is not known.
uintptr_t lowestAddress() {
  pthread_attr_t attributes;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return 0;
  void* base = nullptr;
  size_t size = 0;
  const bool known = pthread_attr_getstack(&attributes, &base, &size) == 0;
  pthread_attr_destroy(&attributes);
  if (!known) return 0;
  constexpr size_t kReserve = 1 << 20;
  return reinterpret_cast<uintptr_t>(base) + std::min(kReserve, size / 4);
}

}  // namespace

NativeStack::NativeStack() {
  thread_local const uintptr_t lowest = lowestAddress();
  lowest_ = lowest;
}

}  // namespace armature
