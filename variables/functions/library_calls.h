// Calls of callables that an array library knows.
#pragma once

#include "variables/translator.h"
#include "variables/value.h"

namespace armature {

// What is known of a function by its identity is not true of others with the same code: guards that
// it is the very one.
void guardCallee(Translator& translator, const Value& callable);
// Guards that the value, which exists, is that very object, if what was guarded before it does not
// say so.
void guardObject(Translator& translator, const Value& value);

// Calls `callable`, a real object, as its library says. False if no library knows it, or if it is
// to be traced through; else `result` is the result, or null with the exception pending. Breaks for
// what the library does not support.
bool callLibrary(Translator& translator, const Value& callable, CallArguments& arguments,
                 Value& result);

}  // namespace armature
