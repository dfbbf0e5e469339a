// armature.error_on_graph_break: a graph break is an error, or none, inside a with statement.
#pragma once

#include <Python.h>

namespace armature {

// A C function that sets isErrorOnGraphBreak() to the truth of its argument, for generated code.
// Borrowed; null before addErrorOnGraphBreak().
PyObject* errorOnGraphBreakSetter();

// Adds the functions by which the package's class reads and sets it, and one that makes known that
// class, to the module. -1 with an exception set.
int addErrorOnGraphBreak(PyObject* module);

}  // namespace armature
