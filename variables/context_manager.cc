#include "variables/context_manager.h"

#include <cstring>

#include "variables/kind_slots.h"
#include "variables/object_protocol.h"
#include "variables/trailed.h"

namespace armature {

void ContextManagerVariable::enter(Translator& translator) {
  assignTrailed(translator.trail, previous, translator.gradEnabled());
  translator.setGradEnabled(target);
}

void ContextManagerVariable::exit(Translator& translator) {
  translator.setGradEnabled(previous);
}

namespace {

Value callExit(Translator& translator, const Value& self, CallArguments&) {
  llvm::cast<ContextManagerVariable>(self.tracker())->exit(translator);
  return Value::none();
}

TypeSlots makeContextManagerSlots() {
  TypeSlots slots;
  slots.tp_getattro = unimplemented::getAttribute;
  slots.tp_setattro = unimplemented::setAttribute;
  // As a callable, the manager is its own __exit__: that is what BEFORE_WITH leaves on the stack.
  slots.tp_call = callExit;
  return slots;
}

}  // namespace

const TypeSlots kContextManagerSlots = makeContextManagerSlots();

}  // namespace armature
