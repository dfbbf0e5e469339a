#include "variables/objects/address.h"

#include "core/checked.h"
#include "variables/kind_slots.h"
#include "variables/objects/user_defined.h"
#include "variables/protocol/object_protocol.h"

namespace armature {

AddressVariable* existingAddress(const Value& value) {
  auto* address = trackerOf<AddressVariable>(value);
  return address && address->existingObject() ? address : nullptr;
}

void realizeUnlessAddress(Translator& translator, Value& value) {
  if (!existingAddress(value)) translator.realize(value);
}

Value pinAddress(Translator& translator, const Value& address) {
  AddressVariable* pinned = existingAddress(address);
  if (!pinned) return address;
  PyObject* object = pinned->existingObject();
  translator.addGuard(pinned->object.tracker()->source(), GuardType::ID_MATCH, object);
  return Value::constant(checked(PyLong_FromVoidPtr(object)));
}

Value compareAddresses(Translator& translator, const Value& left, const Value& right,
                       int relation) {
  auto* a = trackerOf<AddressVariable>(left);
  auto* b = trackerOf<AddressVariable>(right);
  if (!a || !b || (relation != Py_EQ && relation != Py_NE)) return Value();
  return Value::boolean(isSame(translator, a->object, b->object) == (relation == Py_EQ));
}

namespace {

TypeSlots makeAddressSlots() {
  TypeSlots slots = makeOpaqueSlots();
  slots.nb_bool = [](Translator&, const Value&) { return Value::boolean(true); };
  return slots;
}

}  // namespace

const TypeSlots kAddressSlots = makeAddressSlots();

}  // namespace armature
