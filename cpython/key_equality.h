// Whether a hash table holds a key, where the keys of the program must not be asked.
//
// CPython's own lookup calls the __eq__ of any key that has the same hash. Here the caller says
// what is to be thought of such a key, and may say that it cannot tell.
#pragma once

#include <cstdint>

#include "core/ref.h"

namespace armature::cpython {

// `Unknown`: the container holds a key of the same hash whose own __eq__ would have to be asked.
enum class Presence : uint8_t { Present, Absent, Unknown };

// Whether a stored key equals one of the same hash that is another object. It must run none of the
// program's code and leave no exception set.
using KeyEquality = Presence (*)(BorrowedRef<> stored, BorrowedRef<> key);

}  // namespace armature::cpython
