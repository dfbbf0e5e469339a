// Thrown through C++ when Python code must see the exception that is set in the thread state: an
// interrupt, or an error of the machinery itself. Caught where C++ returns to Python.
#pragma once

namespace armature {

struct PendingPythonException {};

}  // namespace armature
