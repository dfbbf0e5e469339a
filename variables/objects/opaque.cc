// Objects that can only be handed on: what looks inside is a graph break.
#include "variables/objects/user_defined.h"

#include "variables/functions/builtin_handlers.h"
#include "variables/kind_slots.h"
#include "variables/protocol/object_protocol.h"

namespace armature {

namespace {

Value callOpaque(Translator& translator, const Value& callable, CallArguments& arguments) {
  if (BuiltinHandler handler = findInstanceHandler(callable.tracker()->type())) {
    return handler(translator, callable, arguments);
  }
  return unimplemented::call(translator, callable, arguments);
}

}  // namespace

TypeSlots makeOpaqueSlots() {
  TypeSlots slots;
  slots.nb.fill(unimplemented::binary);
  slots.nb_unary = unimplemented::unaryOperation;
  slots.nb_bool = unimplemented::unary;
  slots.nb_index = unimplemented::unary;
  slots.nb_int = unimplemented::unary;
  slots.nb_float = unimplemented::unary;
  slots.mp_length = unimplemented::unary;
  slots.mp_subscript = unimplemented::subscript;
  slots.mp_ass_subscript = unimplemented::assignSubscript;
  slots.sq_contains = unimplemented::subscript;
  slots.sq_concat = unimplemented::binary;
  slots.sq_repeat = unimplemented::binary;
  slots.tp_iter = unimplemented::unary;
  slots.tp_iternext = unimplemented::unary;
  slots.tp_call = callOpaque;
  slots.tp_hash = unimplemented::unary;
  slots.tp_richcompare = unimplemented::compare;
  slots.tp_getattro = unimplemented::getAttribute;
  slots.tp_setattro = unimplemented::setAttribute;
  return slots;
}

const TypeSlots kOpaqueSlots = makeOpaqueSlots();
const TypeSlots kPropertySlots = makeOpaqueSlots();

}  // namespace armature
