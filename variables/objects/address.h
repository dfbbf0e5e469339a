// id() of an object: a number that is another one in each call.
#pragma once

#include "variables/variable_tracker.h"

namespace armature {

class Translator;

// The address of an object that existed before, that the trace makes, or of data. It can be handed
// about, compared with others, and be a key of dicts: which of them are one and the same is known
// without the number. Everything else that the program does with the address of an existing object
// realizes it first (Translator::realize), which guards the object to be the same in other calls.
class AddressVariable : public VariableTracker {
 public:
  ARMATURE_KIND(Address)
  explicit AddressVariable(Value object, const Source* place = nullptr)
      : VariableTracker(VariableKind::Address, &PyLong_Type),
        object(std::move(object)),
        place(place) {}
  const Value object;  // realized, as far as its type
  // Of data: the input that it is; null where several may be, and where none is.
  const Source* const place;

  // Two addresses of equal data may be one in another call. So these are no keys; only what has
  // never held one is known to hold none.
  bool isOfData() const {
    return object.isConstant() || object.tracker()->kind() == VariableKind::SymNode;
  }
  // The object that existed before; null for others.
  PyObject* existingObject() const { return isOfData() ? nullptr : object.tracker()->existing(); }
  // The same for one object, which a tuple can be on two paths; not of data.
  const void* identity() const {
    PyObject* existing = existingObject();
    return existing ? static_cast<const void*>(existing) : object.tracker();
  }
};

// The address that a value is, of an object that existed before; null for all others.
AddressVariable* existingAddress(const Value& value);

// Realizes a key of a dict or an item of a set: an existing object's address may stay as it is.
void realizeUnlessAddress(Translator& translator, Value& value);

// The number, a constant: the object is guarded to be the same in other calls. Of an object that
// did not exist before there is none: the value itself.
Value pinAddress(Translator& translator, const Value& address);

// `==` or `!=` of two addresses. Null, with nothing pending, for all else.
Value compareAddresses(Translator& translator, const Value& left, const Value& right, int relation);

}  // namespace armature
