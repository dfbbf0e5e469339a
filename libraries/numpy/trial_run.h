// What an operation returns, found by asking NumPy itself: it runs on arrays that stand for the
// inputs.
#pragma once

#include "libraries/numpy/function_rules.h"
#include "libraries/numpy/numpy_module.h"
#include "variables/library.h"

namespace armature {

// The structure of the result of a node whose inputs all have metadata. Changes nothing that the
// program could see: no input, no warning, no error handling.
//
// If the operation raises, so does this: a Constant with a null constant, and the exception set.
// Throws GraphBreak where the result depends on data, or is of a form that is not modelled.
ResultStructure tryOut(const NumPyModule& numpy, const Node& node, const FunctionRule& rule);

}  // namespace armature
