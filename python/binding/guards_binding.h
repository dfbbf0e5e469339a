// The guards as Python sees them, for tests: armature._C.GuardManager and tensor_metadata.
#pragma once

#include <Python.h>

namespace armature {

// 0, or -1 with an exception set.
int addGuardsFunctions(PyObject* module);

}  // namespace armature
