// Descriptors that classes have: of which builtin kind one is, and what it says of an instance.
#pragma once

#include <string_view>

#include "variables/translator.h"
#include "variables/value.h"

namespace armature {

class UserObjectVariable;
struct BuiltinAttribute;

// The builtin kind of descriptor as which the object behaves where `special`, "__get__" or another
// method of descriptors, is asked: of a class over property that overrides it not, property. Else
// its type.
PyTypeObject* descriptorKind(Translator& translator, PyObject* object, PyObject* special);

// A field of an instance of a builtin type `owner` (staticmethod.__func__, property.fget …), read
// by the member descriptor of that type; None where it is unset.
Value wrapMember(Translator& translator, PyTypeObject* owner, const Source* base, PyObject* object,
                 const char* name);

// Whether the trace has written the slot, be it only to delete its value.
bool isWritten(const UserObjectVariable* object, const Value& key);

// What the member descriptor that was found reads of the instance; null with an AttributeError
// pending.
Value memberOf(Translator& translator, const Found& found, const Value& instance, PyObject* name);

// What the kind of `self` knows of a descriptor of a builtin type; null for any other.
const BuiltinAttribute* findBuiltinAttribute(const Value& self, PyObject* descriptor);

// A module asks the __getattr__ among its variables for what it has not, and has a text of its own:
// breaks for one.
void requireOwnErrors(const Value& object, PyObject* name);
// Null with the AttributeError pending that CPython raises for what an object has not.
Value noAttribute(Translator& translator, const Value& object, PyObject* name);
// The same for a property without a getter, setter or deleter. It knows its name only if
// __set_name__ has told it, and says it only in its errors.
Value raiseNoAccessor(Translator& translator, PyObject* property, PyTypeObject* type,
                      std::string_view accessor);

}  // namespace armature
