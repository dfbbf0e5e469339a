// Equality and hashes as containers see them.
#pragma once

#include "variables/translator.h"
#include "variables/value.h"

namespace armature {

// PyObject_RichCompareBool(left, right, Py_EQ): identity, then `==`. 1, 0, or -1 with the exception
// pending.
int areEqual(Translator& translator, Value left, Value right);
// The same as a bool; see CallArguments::tail.
Value equality(Translator& translator, Value left, Value right, bool tail);

// PyObject_Hash. False with the exception pending; breaks where the hash depends on an address.
bool hashValue(Translator& translator, Value value, Py_hash_t& result);

}  // namespace armature
