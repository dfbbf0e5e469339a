#include "variables/objects/address.h"

#include "variables/kind_slots.h"
#include "variables/objects/user_defined.h"
#include "variables/protocol/object_protocol.h"

namespace armature {

namespace {

Value compareAddresses(Translator& translator, const Value& left, const Value& right, int op) {
  auto* a = trackerOf<AddressVariable>(left);
  auto* b = trackerOf<AddressVariable>(right);
  if (!a || !b || (op != Py_EQ && op != Py_NE)) {
    return unimplemented::compare(translator, left, right, op);
  }
  return Value::boolean(isSame(translator, a->object, b->object) == (op == Py_EQ));
}

TypeSlots makeAddressSlots() {
  TypeSlots slots = makeOpaqueSlots();
  slots.nb_bool = [](Translator&, const Value&) { return Value::boolean(true); };
  slots.tp_richcompare = compareAddresses;
  return slots;
}

}  // namespace

const TypeSlots kAddressSlots = makeAddressSlots();

}  // namespace armature
