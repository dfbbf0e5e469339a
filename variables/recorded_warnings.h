// Warnings of a graph's operations come when the graph runs: behind all that its trace has read,
// and before all that it has changed. Where the program records them (warnings.catch_warnings), the
// trace must not have looked into that list by then, nor changed how they are shown.
#pragma once

#include "core/ref.h"

namespace armature {

class Translator;

// Before the trace knows what is in the list. Throws a GraphBreak if warnings are recorded in it
// and those of the graph are still to come.
void checkListOfWarnings(Translator& translator, BorrowedRef<> list);

// Before the operation `target` is put into the graph. Throws a GraphBreak if the trace knows the
// list that its warnings are recorded in, or has changed the module `warnings`.
void checkWarningsOfOperation(Translator& translator, BorrowedRef<> target);

}  // namespace armature
