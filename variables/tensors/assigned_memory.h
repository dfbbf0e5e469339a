// Arrays that the program gives the memory of others (x.data = y): an effect, done when the graph
// has run. From then on the trace knows what the array is like, but has no operation on it in the
// graph.
#pragma once

#include <string_view>
#include <vector>

#include "variables/protocol/attribute_protocol.h"
#include "variables/tensors/tensor.h"

namespace armature {

// Assigns to such an attribute, found in the array's type. False with an exception pending.
bool assignMemory(Translator& translator, TensorVariable* tensor, const Found& found,
                  PyObject* name, llvm::ArrayRef<std::string_view> alike, const Value& value);

// The array whose memory it has been given, as a new one; null if it was given none.
Value assignedMemory(Translator& translator, TensorVariable* tensor);

// Breaks if an array has been given another memory, which it will have when the graph has run.
void requireOwnMemory(const Value& value);

}  // namespace armature
