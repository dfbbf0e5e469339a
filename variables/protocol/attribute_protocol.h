// Lookups on real types, and what the things found there become when they are bound.
#pragma once

#include "variables/translator.h"
#include "variables/value.h"

namespace armature {

// A raw attribute in the MRO of a type: borrowed, with the path by which a guard can hold it (null
// for static types, which nothing can change).
struct TypeAttribute {
  PyObject* object = nullptr;
  const Source* source = nullptr;
};

// The path to the type of an object; null for objects of static types and for constants.
const Source* typeSource(const Value& object, Translator& translator);

// _PyType_Lookup; with `after`, what super() does: the search begins behind that class.
TypeAttribute findOnType(Translator& translator, const Source* typeSource, PyTypeObject* type,
                         PyObject* name, PyTypeObject* after = nullptr);

// What `__get__` makes of it: for an instance, or (null `instance`) for access through the class.
Value bindTypeAttribute(Translator& translator, const TypeAttribute& found, const Value& instance,
                        PyTypeObject* type, PyObject* name);

}  // namespace armature
