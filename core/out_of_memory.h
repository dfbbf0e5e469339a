// LLVM's containers where memory runs out. By themselves they abort the process there, or, where
// their allocation throws, are in a state in which they cannot be destroyed (DenseMap).
#pragma once

#include <atomic>
#include <cstddef>

namespace armature {

// To be called once, before the rest of the project: from then on a vector that cannot grow throws
// std::bad_alloc and stays as it is. The tables of maps and sets come from a reserve then.
void prepareForOutOfMemory();

namespace out_of_memory {
extern std::atomic<size_t> tablesInReserve;
}

// Does a table lie in the reserve? Then whoever goes on should give up, which frees it.
inline bool isMemoryShort() {
  return out_of_memory::tablesInReserve.load(std::memory_order_relaxed) != 0;
}

}  // namespace armature
