// Arguments that a call gives up.
#pragma once

#include "core/ref.h"

namespace armature::cpython {

// Does a vectorcall have its arguments from the value stack of the Python frame that runs, as CALL
// passes them? That lets go of what it finds in their places when the call has returned (ceval.c),
// so that they may be taken. A call of a Python function takes them for the new frame, too.
bool areGivenUp(PyObject* const* arguments);

// Takes an argument that is given up, and leaves None in its place.
Ref<> takeArgument(PyObject* const* argument);

// Whether arguments can be taken, in this interpreter.
bool argumentsAreTaken();

}  // namespace armature::cpython
