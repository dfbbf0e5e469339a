// Caches of functools.lru_cache that captured code has made. What they remember is the program's
// own affair: it may ask for their counts, or give them to nobody else. So Python calls them.
#pragma once

#include "core/ref.h"

namespace armature {

// Tells of a cache that captured code has just made. False with an exception set.
bool noteMadeCache(BorrowedRef<> wrapper);

}  // namespace armature
