// Generators that the program drops, of those that the trace has made or owns (owned_inputs.cc):
// where one dies, CPython closes it there and then, and its `finally` and `with` run.
//
// A trace counts no references. While it has generators with clean-up to do, it looks after each
// instruction whether the program still reaches them: from its frames, from what it handles, and
// from what it has stored in objects that existed before.
#pragma once

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/DenseSet.h>
#include <llvm/ADT/SmallVector.h>

#include <vector>

#include "variables/variable_tracker.h"

namespace armature {

struct Frame;
class GeneratorVariable;

// How the program reaches an object that the trace has made: from a place in a frame, or from an
// effect, and on from one object to the next.
struct PathToObject {
  const Frame* frame = nullptr;
  size_t slot = 0;
  int32_t effect = -1;
  llvm::SmallVector<VariableTracker*, 6> objects;  // the object itself is the last
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

  bool contains(VariableTracker* tracker) const { return origins.count(tracker) > 0; }
  PathToObject pathTo(VariableTracker* tracker) const;
};

}  // namespace armature
