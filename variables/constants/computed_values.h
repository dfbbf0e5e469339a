// What pure functions of C make of values that varied: computed by the guards ahead of the call, as
// inputs of their own. So what a program does with `name.startswith("test")` is guarded by that,
// and not by the name.
#pragma once

#include "shapes/sym_node.h"
#include "variables/protocol/object_protocol.h"
#include "variables/translator.h"

namespace armature {

// A call of a function with one symbolic value and constants else; null, with nothing pending,
// where it is none or the function no such one.
Value computedCall(Translator& translator, PyObject* function, const CallArguments& arguments);
// An operator, likewise.
Value computedOperation(Translator& translator, NumberSlot slot, const SymNode& left,
                        const SymNode& right);
// What an f-string makes of a value, likewise: `conversion` is 's', 'r', 'a' or 0, and the
// specification may be left out.
Value computedText(Translator& translator, char conversion, const Value& value,
                   const Value& specification);
// ~value, likewise.
Value computedInverse(Translator& translator, const Value& value);
// `item in container` and `container[key]`, likewise.
Value computedContains(Translator& translator, const Value& container, const Value& item);
Value computedItem(Translator& translator, const Value& container, const Value& key);
// The length of an existing list, dict or other container of C as it is at the start of the call;
// null where that did not vary between calls.
Value computedLength(Translator& translator, const VariableTracker& container);
// The function, which the type of a symbolic value has as a method; null where it is no such one.
// The type is guarded.
PyObject* computableMethod(Translator& translator, const Value& value, PyObject* name);
// The method of a symbolic value, bound to it as it is; null where it is no such function.
Value computedMethod(Translator& translator, const Value& value, PyObject* name);
// An expression over one input as an input; null for another.
const SymNode* computedInput(Translator& translator, const SymNode& node);

}  // namespace armature
