#include "variables/objects/call_result.h"

#include "cpython/type_lookup.h"
#include "variables/kind_slots.h"
#include "variables/objects/user_defined.h"
#include "variables/protocol/attribute_protocol.h"
#include "variables/protocol/object_protocol.h"
#include "variables/tensors/tensor.h"
#include "variables/type_slots.h"

namespace armature {

namespace {

// Its methods can be asked for; what its __dict__ will hold is not known.
Value attributeOfResult(Translator& translator, const Value& self, PyObject* name) {
  PyTypeObject* type = self.tracker()->type();
  Found found = translator.heap.lookup(type, name);
  if (!found || !PyFunction_Check(found.object)) {
    return unimplemented::getAttribute(translator, self, name);
  }
  return bindTypeAttribute(translator, found, self, type, name);
}

TypeSlots makeCallResultSlots() {
  TypeSlots slots = makeOpaqueSlots();
  slots.nb_bool = [](Translator&, const Value&) { return Value::boolean(true); };
  slots.tp_getattro = attributeOfResult;
  return slots;
}

}  // namespace

Node* nodeThatGives(const VariableTracker* tracker) {
  if (auto* tensor = llvm::dyn_cast<TensorVariable>(tracker)) return tensor->node;
  auto* result = llvm::dyn_cast<CallResultVariable>(tracker);
  return result ? result->node : nullptr;
}

Value callAfterGraph(Translator& translator, VariableTracker* target, BorrowedRef<> function,
                     PyTypeObject* type, ValueVector arguments) {
  if (!translator.effects.concerns(target)) {
    throw GraphBreak(GraphBreakKind::UnsupportedOperation, describe(Value(target)));
  }
  Value result = translator.make<CallResultVariable>(type, std::move(arguments));
  translator.effects.append({EffectKind::Call, target, Value::constant(function.get()), result});
  return result;
}

const TypeSlots kCallResultSlots = makeCallResultSlots();

}  // namespace armature
