// The bytecode room, shown to Python: for tests and for looking at code.
#pragma once

#include <Python.h>

namespace armature {

// Adds `round_trip` and `disassemble` to the module. Returns 0, or -1 with an exception set.
int addBytecodeFunctions(PyObject* module);

}  // namespace armature
