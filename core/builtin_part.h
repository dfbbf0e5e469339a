// What an instance of a subclass of int, float, complex, str or bytes is as one of those: what the
// builtin type's own functions read of it, whatever the subclass makes of its methods.
#pragma once

#include "core/ref.h"

namespace armature {

// int, float, complex, str or bytes, if instances of `type` have that layout; else null. Of a
// subclass, too, and of the type itself.
PyTypeObject* dataLayout(PyTypeObject* type);

// The constant of that exact type with the same value, a new reference. `object` has such a layout.
// Null with the exception set where memory ran out.
Ref<> builtinPart(BorrowedRef<> object);

// False for a nan, which hashes by its identity. `constant` is what builtinPart gives.
bool equalsItself(BorrowedRef<> constant);

// Is `constant` what builtinPart(object) would give? Any object may be asked about. Allocates
// nothing.
bool hasBuiltinPart(BorrowedRef<> object, BorrowedRef<> constant);

}  // namespace armature
