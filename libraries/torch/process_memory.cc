#include "libraries/torch/process_memory.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdint>

namespace armature {

bool readMemory(const void* address, void* buffer, size_t size) {
  int memory = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
  if (memory < 0) return false;
  auto offset = static_cast<off_t>(reinterpret_cast<uintptr_t>(address));
  ssize_t count = pread(memory, buffer, size, offset);
  close(memory);
  return count == static_cast<ssize_t>(size);
}

}  // namespace armature
