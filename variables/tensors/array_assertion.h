// `assert array`: an operation of the graph, if the array's library has one that raises where the
// array is false.
#pragma once

#include "variables/translator.h"

namespace armature {

class TensorVariable;

// Adds the operation, which calls `target` (see below). `message` is a str, for those who read the
// graph: Python raises its own. Null if it raises now, with the exception pending; null without an
// exception, if the array is not one to be asserted so.
using ArrayAssertion = Value (*)(Translator& translator, TensorVariable* array, PyObject* message);
void registerArrayAssertion(ArrayLibraryKind library, ArrayAssertion assertion,
                            BorrowedRef<> target);

// The function of the array's library, or null.
ArrayAssertion findArrayAssertion(const TensorVariable* array);

// Is it such an operation? What it raises is not what the program would see; so the graph that it
// is in must be one after whose failure Python can raise its own.
bool isArrayAssertion(const Node& node);

}  // namespace armature
