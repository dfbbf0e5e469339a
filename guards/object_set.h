// Finds out in linear time that objects are pairwise different.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace armature {

// An open hash table over addresses that empties itself in no time: what an earlier generation has
// left does not count.
class ObjectSet {
 public:
  explicit ObjectSet(size_t capacity)
      : cells_(std::bit_ceil(2 * capacity + 2)), shift_(64 - std::countr_zero(cells_.size())) {}

  void clear() { ++generation_; }

  // False if it was there already.
  bool insert(const void* object) {
    Cell& cell = find(object);
    if (cell.generation == generation_) return false;
    cell = {object, generation_};
    return true;
  }

  bool contains(const void* object) { return find(object).generation == generation_; }

 private:
  struct Cell {
    const void* object = nullptr;
    uint64_t generation = 0;
  };

  // The object's cell, or the empty one where it belongs.
  Cell& find(const void* object) {
    // Fibonacci hashing: the high bits of the product depend on all bits of the address.
    uint64_t hash = reinterpret_cast<uintptr_t>(object) * 0x9E3779B97F4A7C15u;
    for (size_t i = hash >> shift_;; i = (i + 1) & (cells_.size() - 1)) {
      Cell& cell = cells_[i];
      if (cell.generation != generation_ || cell.object == object) return cell;
    }
  }

  std::vector<Cell> cells_;
  int shift_;
  uint64_t generation_ = 1;
};

}  // namespace armature
