// Where the extension takes memory from operator new, it passes a fault site: the linker lets calls
// of the functions below come here first (--wrap, python/BUILD).
#include <cstddef>
#include <utility>

#include "core/fault_injection.h"

using armature::faultSite;
using armature::FaultSite;
using armature::fault_injection::armed;

extern "C" {

void* __real__Znwm(size_t size);
void* __wrap__Znwm(size_t size) {
  faultSite(FaultSite::Allocation);
  return __real__Znwm(size);
}

void* __real__Znam(size_t size);
void* __wrap__Znam(size_t size) {
  faultSite(FaultSite::Allocation);
  return __real__Znam(size);
}

// llvm::allocate_buffer is no site: LLVM's containers do not survive an exception out of it.
void* __real__ZN4llvm15allocate_bufferEmm(size_t size, size_t alignment);
void* __wrap__ZN4llvm15allocate_bufferEmm(size_t size, size_t alignment) {
  bool wasArmed = std::exchange(armed, false);
  void* buffer = __real__ZN4llvm15allocate_bufferEmm(size, alignment);
  armed = wasArmed;
  return buffer;
}
}
