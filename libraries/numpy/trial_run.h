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

// What the node's operation returns for arrays of the sizes and strides of its inputs, which all
// know theirs (Node::layoutKnown). Null with an exception set where it fails.
Ref<> resultOnTrueLayout(const NumPyModule& numpy, const Node& node, const FunctionRule& rule);

// Does an operator, or a call that makes or computes an array, tell all but its data from types and
// shapes, wherever its arrays come from? Throws GraphBreak where the form of the call is not
// modelled.
bool dependsOnlyOnData(const NumPyModule& numpy, const Node& node, const FunctionRule& rule,
                       bool isOperator);

// Does the node compute a number of Python's numbers, by universal functions and operators, and
// raise no floating-point error, whatever is done about those? So it is in every call, then.
bool succeedsOnConstants(const NumPyModule& numpy, const Node& node);

// Calls the callable, with floating-point errors ignored. Null with an exception set on failure.
Ref<> callSilently(const NumPyModule& numpy, BorrowedRef<> callable, BorrowedRef<> arguments,
                   BorrowedRef<> keywords);

}  // namespace armature
