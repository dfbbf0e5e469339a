// What generated code returns where its graph raised. The graph comes first, so if it changes
// nothing, nothing has happened yet: the caller forgets the call and runs the function plainly.
// Then the effects that come before the failing operation happen, and the exception is Python's
// own.
#pragma once

#include <Python.h>

namespace armature {

// Borrowed, immortal, and seen by nobody else.
PyObject* graphFailure();

}  // namespace armature
