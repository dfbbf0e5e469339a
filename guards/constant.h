// Constants as a trace knows them: objects of builtin immutable types, equal only if no program
// could tell them apart.
#pragma once

#include "core/ref.h"

namespace armature {

// None, Ellipsis, NotImplemented, a bool, int, float, complex, str, bytes, range or slice of such,
// or a tuple or frozenset of such. Exact types only: nothing that compares with code of the
// program's.
bool isConstant(BorrowedRef<> object);

// Equal as constants of a trace: of the same exact types throughout (True is not 1, nor 1.0),
// floats by their bits (0.0 is not -0.0) except that every nan equals every nan. Any two objects
// may be asked about; those that are not constants are equal only to themselves.
bool sameConstant(BorrowedRef<> a, BorrowedRef<> b);

}  // namespace armature
