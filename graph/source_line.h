// The text of the traced program's lines, for comments and for stack traces.
#pragma once

#include <string>

#include "graph/graph.h"

namespace armature {

// The line's text without the blanks around it; empty where it is not to be had.
std::string sourceLine(const ProgramLocation& location);

// The location as a one-frame Python traceback writes it; empty where there is none.
std::string stackTrace(const ProgramLocation& location);

}  // namespace armature
