// What is known of torch's operations by their names alone.
#pragma once

#include <string_view>

namespace armature {

// add_, __iadd__, …: changes its first argument and returns it.
bool isInPlaceName(std::string_view name);

// Draws random numbers, or may: which numbers others draw depends on it. Or changes something else
// than its first argument (running statistics, gradients, …).
bool drawsRandomNumbers(std::string_view name);
bool changesMoreThanArrays(std::string_view name);

// Of two operands, computes in the dtype that follows from the types of both: of numbers that fit
// into 64 bits, it takes all.
bool takesAnyNumberByName(std::string_view name);

// Always returns one array, although its schemas do not say so, or it has none.
bool returnsOneArrayByName(std::string_view name);

// Why an operation breaks the graph; null for those that do not.
const char* reasonAgainstOperation(std::string_view name);

// The same for methods of torch.Tensor: what does not exist as a function of torch as well.
const char* reasonAgainstMethod(std::string_view name);

// What returns no tensor, and something that follows from the metadata of its arguments.
bool isAnsweredByMetadata(std::string_view name);

// The same, where the strides are part of that.
bool isAnsweredByLayout(std::string_view name);

// A method that is answered from metadata: size, dim, ….
bool isMetadataMethod(std::string_view name);

// May the operation, which is not in place, return its first argument, and no new tensor?
bool mayReturnArgument(std::string_view name);

// Does the in-place operation change how a tensor looks at its memory, or what autograd knows of
// it, and no data?
bool changesLayoutOnly(std::string_view name);

}  // namespace armature
