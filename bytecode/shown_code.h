// Which code of the program's tracebacks show where code of ours has run in its place.
#pragma once

#include "bytecode/code.h"

namespace armature {

// Says that `made` runs in the place of `original`. To be said before it runs: its frames get room
// for the locals of that. `made` keeps it alive. False with an exception set.
bool setShown(BorrowedRef<PyCodeObject> made, BorrowedRef<PyCodeObject> original);
// What was said; null if nothing was.
BorrowedRef<PyCodeObject> shownCode(BorrowedRef<PyCodeObject> made);
// The byte offset of the first instruction of shownCode(made) that has the place in the source
// which the one at `offset` of `made` has; 0 if there is none.
int32_t shownOffset(BorrowedRef<PyCodeObject> made, int32_t offset);

}  // namespace armature
