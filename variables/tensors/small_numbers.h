// Numbers that vary among the arguments of an operation, where torch looks at how large they are.
#pragma once

#include <bitset>
#include <optional>

#include "variables/library.h"

namespace armature {

// The arguments of a call, keyword arguments last, that may stay symbolic.
using SmallNumbers = std::bitset<32>;

// Those that are numbers of CallRule::smallNumbers; that they are small is guarded then. Nothing if
// an exception is pending.
std::optional<SmallNumbers> smallNumbers(Translator& translator, const Library& library,
                                         const CallRule& rule, llvm::ArrayRef<Value> arguments,
                                         PyObject* keywordNames);

}  // namespace armature
