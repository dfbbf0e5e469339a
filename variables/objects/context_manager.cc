#include "variables/objects/context_manager.h"

#include "variables/kind_slots.h"
#include "variables/protocol/object_protocol.h"

namespace armature {

namespace {

Value callExit(Translator& translator, const Value& self, CallArguments&) {
  ContextManagerVariable* manager = requireKind<ContextExitVariable>(self)->manager;
  manager->model.exit(translator, *manager);
  return Value::none();
}

TypeSlots makeContextManagerSlots() {
  TypeSlots slots;
  slots.tp_getattro = unimplemented::getAttribute;
  slots.tp_setattro = unimplemented::setAttribute;
  slots.tp_call = unimplemented::call;
  return slots;
}

TypeSlots makeContextExitSlots() {
  TypeSlots slots;
  slots.tp_getattro = unimplemented::getAttribute;
  slots.tp_setattro = unimplemented::setAttribute;
  slots.tp_call = callExit;
  return slots;
}

}  // namespace

const TypeSlots kContextManagerSlots = makeContextManagerSlots();
const TypeSlots kContextExitSlots = makeContextExitSlots();

}  // namespace armature
