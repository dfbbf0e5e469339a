// functools.lru_cache: the function behind the cache, which the wrapper keeps to itself.
// Its __wrapped__ is an attribute like any other, which a program may set to something else.
#pragma once

#include "core/ref.h"

namespace armature::cpython {

// functools._lru_cache_wrapper in C; null where functools does without it.
PyTypeObject* lruCacheType();

// The function that `wrapper`, an instance of that type or of a subclass, calls where its cache has
// no answer; borrowed. Null where it cannot be found.
PyObject* cachedFunction(BorrowedRef<> wrapper);

}  // namespace armature::cpython
