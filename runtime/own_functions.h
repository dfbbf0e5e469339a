// What Armature's own functions are to a trace.
#pragma once

#include <Python.h>

namespace armature {

// `module` has is_compiling and graph_break, and the types of compiled and disabled functions.
// -1 with an exception set.
int registerOwnFunctions(PyObject* module);

}  // namespace armature
