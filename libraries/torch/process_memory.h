// Reads memory of this process at addresses that may be wrong: the kernel refuses them where a
// plain access would crash. For finding fields of structures whose layout nobody promises.
#pragma once

#include <cstddef>

namespace armature {

bool readMemory(const void* address, void* buffer, size_t size);

}  // namespace armature
