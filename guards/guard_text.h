// The one textual form of a guard: Python-like, without addresses.
#pragma once

#include <string>

#include "guards/guard.h"

namespace armature {

// "L['n'] == 3", "type(L['self']) is <class Linear>", "L['x'] is like f32[2, 3] in dtype, sizes".
// `operand` stands in for guard.operand, which may have been given up.
std::string guardText(const Guard& guard, BorrowedRef<> operand);

}  // namespace armature
