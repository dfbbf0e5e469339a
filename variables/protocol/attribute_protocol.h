// Lookups on real types, and what the things found there become when they are bound.
#pragma once

#include "variables/translator.h"
#include "variables/value.h"

namespace armature {

// What `__get__` makes of it: for an instance, or (null `instance`) for access through the class.
Value bindTypeAttribute(Translator& translator, const Found& found, const Value& instance,
                        PyTypeObject* type, PyObject* name);

}  // namespace armature
