// How FX's generated code refers to a call target.
#pragma once

#include <string>

#include "core/ref.h"

namespace armature {

// Module and name as FX finds them: "torch._C._nn.linear", "_operator.abs", "numpy.where"; builtins
// by their name alone.
std::string qualifiedName(BorrowedRef<> target);

// True for what generated code may name in full, because `torch` is among its globals.
bool isFromTorch(BorrowedRef<> target);

// object.name where that is a string, else "".
std::string stringAttribute(BorrowedRef<> object, const char* name);

}  // namespace armature
