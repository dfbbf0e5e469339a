#include "variables/objects/context_manager.h"

#include <cstring>

#include "variables/kind_slots.h"
#include "variables/protocol/object_protocol.h"
#include "variables/trailed.h"

namespace armature {

void ContextManagerVariable::enter(Translator& translator) {
  assignTrailed(translator.trail, previous, translator.gradEnabled());
  translator.setGradEnabled(target);
}

void ContextManagerVariable::exit(Translator& translator) { translator.setGradEnabled(previous); }

namespace {

Value callExit(Translator& translator, const Value& self, CallArguments&) {
  llvm::cast<ContextExitVariable>(self.tracker())->manager->exit(translator);
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
