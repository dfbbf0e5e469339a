// Lookups on real types, and what the things found there become when they are bound.
#pragma once

#include <llvm/ADT/STLFunctionalExtras.h>

#include "variables/translator.h"
#include "variables/value.h"

namespace armature {

// What `__get__` makes of it: for an instance, or (null `instance`) for access through the class.
Value bindTypeAttribute(Translator& translator, const Found& found, const Value& instance,
                        PyTypeObject* type, PyObject* name, bool tail = false);

// slot_tp_getattr_hook: the class's __getattribute__, and where that raises AttributeError, its
// __getattr__.
Value hookedGetAttribute(Translator& translator, const Value& object, PyObject* name, bool tail);
// The rest of it, where looking the attribute up gave `value`: where that is null, with an
// AttributeError pending or without one, the class's __getattr__, if it has one. `missing` raises
// the error that stands for no exception.
Value orGetattr(Translator& translator, const Value& object, PyObject* name, Value value, bool tail,
                llvm::function_ref<Value()> missing);
// The same where an AttributeError is pending.
Value askGetattr(Translator& translator, const Value& object, PyObject* name, bool tail);
// super_getattro.
Value superAttribute(Translator& translator, const Value& self, PyObject* name, bool tail);

// set_attribute_error_context: the pending AttributeError names the attribute, unless it names one
// already.
void tellAttribute(Translator& translator, const Value& object, PyObject* name);

}  // namespace armature
