// Constants as text, for the printer and for JSON.
#pragma once

#include <string>

#include "core/ref.h"

namespace armature {

// The same in every run, and without running user code: repr() of what a compiler puts among the
// constants (long ones cut short), the type's name of anything else.
std::string constantText(BorrowedRef<> constant);

// A str's content; "?" for what is no str, or cannot be encoded.
std::string utf8(BorrowedRef<> string);

}  // namespace armature
