// What became of the frames that a frame hook has seen begin.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <unordered_map>

#include "runtime/code_cache.h"
#include "runtime/frame_hook/excluded_frames.h"

namespace armature {

class FrameCounts {
 public:
  void countExcluded(Exclusion exclusion) { ++excluded_[static_cast<size_t>(exclusion)]; }
  // The entry that runs, or because of which the frame runs plainly; null: there is none.
  void count(const CodeCache& cache, const CacheEntry* entry);
  // A dict: whole, broken, excluded (by reason), break_reasons (by reason). Null with an exception
  // set.
  Ref<> describe() const;

 private:
  uint64_t whole_ = 0;
  uint64_t broken_ = 0;
  std::array<uint64_t, static_cast<size_t>(Exclusion::Count)> excluded_{};
  std::unordered_map<std::string, uint64_t> reasons_;
};

}  // namespace armature
