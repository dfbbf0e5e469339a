// Generators that the program drops, of those that the trace has made or owns (owned_inputs.cc):
// where one dies, CPython closes it there and then, and its `finally` and `with` run.
//
// A trace counts no references. While it has generators with clean-up to do, it looks after each
// instruction that may have let go of one whether the program still reaches them: from its frames,
// from what it handles, and from what it has stored in objects that existed before.
#pragma once

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/DenseSet.h>
#include <llvm/ADT/SmallVector.h>

#include <vector>

#include "interpreter/frame.h"
#include "variables/variable_tracker.h"

namespace armature {

class GeneratorVariable;

// An instruction that lets go of nothing that the trace has made, if all it does is to go on to the
// next one of its frame, or to jump without asking anything, and changes nothing.
struct KeepingInstruction {
  const Frame* frame = nullptr;  // null: not known to be one
  int32_t next = 0;
  uint64_t changes = 0;  // SideEffects::changeCount

  bool isDone(const Frame& running, uint64_t changesNow) const {
    return frame == &running && running.pc == next && changes == changesNow;
  }
};

// How the program reaches an object that the trace has made: from a place in a frame, or from an
// effect, and on from one object to the next.
struct PathToObject {
  const Frame* frame = nullptr;
  size_t slot = 0;
  int32_t effect = -1;
  llvm::SmallVector<VariableTracker*, 6> objects;  // the object itself is the last
};

// Finds frames among those that run. What is asked for in the order of the stack, the innermost
// first, is found in one walk.
class FrameSearch {
 public:
  explicit FrameSearch(const Frame* innermost) : innermost_(innermost), at_(innermost) {}
  // `inner` is left with the frame that it has called.
  bool find(const Frame* frame, const Frame*& inner) {
    const Frame* start = at_;
    walk(frame, nullptr);
    if (!at_) {
      at_ = innermost_;
      inner_ = nullptr;
      walk(frame, start);
    }
    inner = inner_;
    return at_ == frame;
  }

 private:
  void walk(const Frame* frame, const Frame* end) {
    for (; at_ != end && at_ != frame; at_ = at_->back) inner_ = at_;
  }

  const Frame* innermost_;
  const Frame* at_;
  const Frame* inner_ = nullptr;
};

// All that the program reaches of what the trace has made.
struct ReachedObjects {
  struct Origin {
    VariableTracker* from = nullptr;  // null: a root, as the others say
    const Frame* frame = nullptr;
    size_t slot = 0;
    int32_t effect = -1;
  };
  llvm::DenseMap<VariableTracker*, Origin> origins;
  std::vector<VariableTracker*> pending;

  // Null is nothing.
  void reach(VariableTracker* tracker, const Origin& origin) {
    if (tracker && origins.try_emplace(tracker, origin).second) pending.push_back(tracker);
  }
  bool contains(VariableTracker* tracker) const { return origins.count(tracker) > 0; }
  PathToObject pathTo(VariableTracker* tracker) const;
};

}  // namespace armature
