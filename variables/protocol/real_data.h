// Real copies of traced containers that hold nothing but data, and the other way round.
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

// For where C code wants a str and the trace has none: an instance of a subclass into which the
// trace does not look, as numpy.str_, is one, and breaks the graph.
void requireNoUnknownText(Translator& translator, const Value& value);

// Takes back the TypeError of C code that was given data in the place of objects: its text names
// the types of data. False where no TypeError is pending.
bool dropTypeErrorOfData(Translator& translator);

// A value equal to the data that C code has just made for the trace: lists and dicts are new ones.
Value fromRealData(Translator& translator, PyObject* object);

}  // namespace armature
