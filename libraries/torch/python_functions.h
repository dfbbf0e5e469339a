// What a trace does with torch's functions that are written in Python.
#pragma once

#include "libraries/torch/callable_names.h"
#include "variables/library.h"

namespace armature {

// NotOurs if the function is not torch's. What differs from the rest of its module is in a table;
// only what a module has as an attribute is an operation.
//
// codeName: the qualified name of the function's code, by which methods are known.
CallRule classifyPythonFunction(const CallableName& function, std::string_view codeName);

}  // namespace armature
