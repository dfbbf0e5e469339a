// What Armature's own functions are to a trace.
#pragma once

#include <Python.h>

namespace armature {

// Adds is_compiling and graph_break to the module, and tells traces what they are, and what
// compiled and disabled functions are. -1 with an exception set.
int addOwnFunctions(PyObject* module);

}  // namespace armature
