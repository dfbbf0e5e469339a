// `assert array`: an operation of the graph, if the array's library has one that raises where the
// array is false.
#pragma once

#include "variables/translator.h"

namespace armature {

class TensorVariable;

// Adds the operation. `message` is a str, for backends that let the error out as it is; where
// Python runs the call again, it raises its own. Null if it raises now, with the exception pending.
using ArrayAssertion = Value (*)(Translator& translator, TensorVariable* array, PyObject* message);
void registerArrayAssertion(ArrayLibraryKind library, ArrayAssertion assertion);

// The function of the array's library, or null.
ArrayAssertion findArrayAssertion(const TensorVariable* array);

}  // namespace armature
