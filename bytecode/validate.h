// Whether code is fit to be run, apart from the flow of the stack.
#pragma once

#include <string>

#include "bytecode/code.h"

namespace armature {

// Empty if CPython could run such code, else what is wrong with it. Catches what would otherwise
// make CPython read or write out of bounds; that the values on the stack are of the right type
// (a cell, an iterator) is beyond it.
std::string validate(const Code& code);

}  // namespace armature
