// product, permutations and combinations of itertools, whose next tuples follow from indexes alone.
#pragma once

#include <llvm/ADT/SmallVector.h>

#include "core/ref.h"
#include "cpython/iterators.h"

namespace armature::cpython {

bool givesTuplesOfIndexes(const PyTypeObject* type);
// What a step gives after `distance` others, and the items of its tuple, borrowed.
Step tupleAhead(BorrowedRef<> iterator, int64_t distance, llvm::SmallVectorImpl<PyObject*>& items);

// Tries the layouts out. Iterators of which one is not as we know it are no such from then on.
void tryCombinatorics();

}  // namespace armature::cpython
