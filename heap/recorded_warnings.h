// Who hears of a warning. Looked at without a guard: nothing but graph breaks follows from it.
#pragma once

#include "core/ref.h"

namespace armature {

// The names of the module `warnings`, which CPython asks, too (call_show_warning in _warnings.c).
BorrowedRef<> namesOfWarnings();

// The list of warnings.catch_warnings(record=True); null where warnings are not recorded.
BorrowedRef<> listOfWarnings();

}  // namespace armature
