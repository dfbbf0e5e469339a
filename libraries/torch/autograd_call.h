// What torch.autograd.Function.apply is in a graph, where gradients are asked for.
//
// The node calls a function made here with the graph of what forward() computes and with the values
// that the graph and the call take. The function calls apply() of a class of its own, whose
// forward() runs that graph and leaves in its context what the program's left there. The context's
// class is that of the program's: its backward() runs as it is when gradients are computed, with
// the arguments of the program's call, and the results name it.
#pragma once

#include "core/ref.h"

namespace armature {

// Values are numbered: those that the node passes, then what the graph returns.
struct AutogradCall {
  Ref<> functionClass;  // the program's
  Ref<> arguments;      // tuple: an int for each tensor that apply() was given, None for the others
  size_t graphInputs;   // so many of the values, the first ones, are the graph's
  Ref<> outputs;        // tuple of parts: what forward() returned
  Ref<> attributes;     // tuple of (name, part): what forward() set in its context
};

// A part of a result or of a context's attribute. Null with an exception set on failure.
Ref<> constantPart(BorrowedRef<> object);
Ref<> valuePart(size_t number);
// `parts`: a tuple.
Ref<> tuplePart(BorrowedRef<> parts);

// The callable (graph's function, *values) -> tuple of results. Null with an exception set on
// failure.
Ref<> makeAutogradCall(const AutogradCall& call);

}  // namespace armature
