// The runtime for the armature package: compiled functions, what is known of them, and hooks.
#pragma once

#include <Python.h>

namespace armature {

// -1 with an exception set.
int addRuntimeFunctions(PyObject* module);

}  // namespace armature
