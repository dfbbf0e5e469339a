// Lookups on real types, and what the things found there become when they are bound.
#pragma once

#include "variables/translator.h"
#include "variables/value.h"

namespace armature {

// What `__get__` makes of it: for an instance, or (null `instance`) for access through the class.
Value bindTypeAttribute(Translator& translator, const Found& found, const Value& instance,
                        PyTypeObject* type, PyObject* name, bool tail = false);

// slot_tp_getattr_hook, where an AttributeError is pending: the class's __getattr__, if it has one.
Value askGetattr(Translator& translator, const Value& object, PyObject* name);

// set_attribute_error_context: the pending AttributeError names the attribute, unless it names one
// already.
void tellAttribute(Translator& translator, const Value& object, PyObject* name);

}  // namespace armature
