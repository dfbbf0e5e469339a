// The text operations of str whose arguments may be traced values.
#pragma once

#include "variables/translator.h"
#include "variables/value.h"

namespace armature {

// format % argument, where the argument (a tuple, a dict, or any one value) is not a constant.
Value formatPercent(Translator& translator, PyObject* format, const Value& argument);

// ascii() of a text that repr() gave: a constant, or null with the exception pending.
Value escapeNonAscii(Translator& translator, const Value& text);

}  // namespace armature
