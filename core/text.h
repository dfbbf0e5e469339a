// Strings of the program as text of ours: in logs, errors, and reasons of graph breaks.
#pragma once

#include <string>

#include "core/ref.h"

namespace armature {

// The str in UTF-8, whatever it holds: lone surrogates as "\ud800". "?" for what is not a str, and
// where memory runs out. Leaves the error indicator as it was. Not for comparing: two different
// strings may have one text.
std::string printable(BorrowedRef<> string);

// At most `size` bytes of UTF-8, cut between characters, with "..." where something was left out.
std::string shortened(std::string text, size_t size);

}  // namespace armature
