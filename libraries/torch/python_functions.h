// What a trace does with torch's functions that are written in Python.
#pragma once

#include <string_view>

#include "variables/library.h"

namespace armature {

// By the module and the name of the function. NotOurs if the module is not torch's.
CallRule classifyPythonFunction(std::string_view module, std::string_view name);

}  // namespace armature
