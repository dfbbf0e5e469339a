// `assert array`, and `if array: raise …`: an operation of the graph, if the array's library has
// one that raises where the array is not what the program goes on with.
#pragma once

#include "variables/translator.h"

namespace armature {

class TensorVariable;

// Adds the operation, which calls `target` (see below) and raises unless the array is as true as
// `expected`. `message` is a str, for those who read the graph: Python raises its own; null of a
// branch, which may well be taken. Null if it raises now, with the exception pending; null without
// an exception, if the array is not one to be asserted so.
using ArrayAssertion = Value (*)(Translator& translator, TensorVariable* array, bool expected,
                                 PyObject* message);
void registerArrayAssertion(ArrayLibraryKind library, ArrayAssertion assertion,
                            BorrowedRef<> target);

// The function of the array's library, or null.
ArrayAssertion findArrayAssertion(const TensorVariable* array);

// Is it such an operation? What it raises is not what the program would see; so the graph that it
// is in must be one after whose failure Python can raise its own.
bool isArrayAssertion(const Node& node);

}  // namespace armature
