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

// What the cache remembers for these arguments; null, with no exception set, where it has nothing
// or hashing them fails. The arguments are data or go by their identity, so that no code of the
// program's runs; that the cache was asked, it counts as it counts any call.
Ref<> remembered(BorrowedRef<> wrapper, BorrowedRef<> arguments, PyObject* keywords);

// Lets the cache remember `result` for these arguments, as if the function had given it. False with
// an exception set.
bool remember(BorrowedRef<> wrapper, BorrowedRef<> arguments, PyObject* keywords,
              BorrowedRef<> result);
// For how many calls more the cache has room; none for one that remembers nothing.
Py_ssize_t roomIn(BorrowedRef<> wrapper);

}  // namespace armature::cpython
