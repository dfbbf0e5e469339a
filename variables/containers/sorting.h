// Sorting by CPython's own algorithm, over traced values.
#pragma once

#include "variables/containers/sequence.h"
#include "variables/translator.h"
#include "variables/value.h"

namespace armature {

// Sorts as list.sort does, by the keys of the items, which without a key function are the items:
// the order of comparisons is CPython's. False with the exception pending; the items then are in
// the order that CPython would leave.
bool sortValues(Translator& translator, ValueVector& items, ValueVector keys, bool reverse);

}  // namespace armature
