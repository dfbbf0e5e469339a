// Real copies of traced containers that hold nothing but data.
#pragma once

#include "variables/translator.h"
#include "variables/value.h"

namespace armature {

// A real object equal to the value: data as it is, lists, tuples and dicts of data as new ones.
// Null, without an exception, for anything else.
Ref<> toRealData(Translator& translator, Value value);

// Replaces the arguments by such copies, for a call that neither changes nor keeps them. False
// where there are none; the arguments are then as they were.
bool makeData(Translator& translator, CallArguments& arguments);

}  // namespace armature
