// ascii(), and the conversion `a` of formats.
#pragma once

#include "variables/translator.h"
#include "variables/value.h"

namespace armature {

// PyObject_ASCII: repr() with escapes for what is not ASCII. Null with the exception pending.
Value toAscii(Translator& translator, Value value);

}  // namespace armature
