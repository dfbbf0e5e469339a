// Caches of functools.lru_cache that captured code has made. What they remember is the program's
// own affair: it may ask for their counts, or give them to nobody else. So Python calls them.
#pragma once

#include "core/graph_break.h"
#include "core/ref.h"
#include "guards/guard.h"

namespace armature {

// A call that a cache has no answer for yet. The code that is generated for the break holds as long
// as that is so, by the guard, which the trace takes over when it has gone back to the call.
class MissedCall : public GraphBreak {
 public:
  MissedCall(const GraphBreak& reason, Guard guard)
      : GraphBreak(reason), guard_(std::move(guard)) {}
  const Guard& guard() const { return guard_; }

 private:
  Guard guard_;
};

// Tells of a cache that captured code has just made. False with an exception set.
bool noteMadeCache(BorrowedRef<> wrapper);

}  // namespace armature
