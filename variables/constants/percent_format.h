// str % values, where the values may be traced.
#pragma once

#include "variables/translator.h"
#include "variables/value.h"

namespace armature {

// format % argument, where the argument (a tuple, a dict, or any one value) is not a constant.
// Null with the exception pending.
Value formatPercent(Translator& translator, PyObject* format, const Value& argument);

}  // namespace armature
