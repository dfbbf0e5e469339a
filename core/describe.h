// Texts for objects of the program, made without running any of its code.
//
// Logs, guards and source names must print the same way run after run, and must not call a
// `__repr__` that the program defines: constants print as core/constant.h has it, containers of
// exact builtin types print their elements, everything else prints its type. No text holds an
// address.
#pragma once

#include <string>

#include "core/ref.h"

namespace armature {

// "3", "'text'", "(1, <__main__.Point object>)", "<function helper>"; "<nothing>" for null.
std::string describe(BorrowedRef<> object);

// "int", "torch.nn.modules.linear.Linear": the module is left out for builtins.
std::string typeName(const PyTypeObject* type);

}  // namespace armature
