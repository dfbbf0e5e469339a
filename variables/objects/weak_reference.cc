// Calls of weak references that existed before the trace.
#include "cpython/weak_references.h"
#include "variables/functions/builtin_handlers.h"
#include "variables/protocol/object_protocol.h"

namespace armature {

namespace {

// The referent, while what lives at the start of the trace lives on: when it ends is not traced.
Value referent(Translator& translator, const Value& self, CallArguments& arguments) {
  VariableTracker* reference = self.tracker();
  if (!reference->source() || !translator.keepsExisting() || !arguments.values.empty()) {
    throw GraphBreak(GraphBreakKind::UnsupportedOperation, "call: " + describe(self));
  }
  return translator.wrap(translator.sources->path(SourceKind::WeakReferent, reference->source()),
                         PyWeakref_GET_OBJECT(reference->existing()));
}

// What it refers to is its __new__'s business: this checks arguments that are there, and does
// nothing.
Value initialize(Translator&, const Value&, CallArguments& arguments) {
  bool fits =
      !arguments.keywordCount() && arguments.values.size() >= 1 && arguments.values.size() <= 2;
  if (!fits) throw GraphBreak(GraphBreakKind::UnknownCFunction, "weakref.ref.__init__");
  return Value::none();
}

void registerWeakReferences() {
  registerInstanceHandler(cpython::weakReferenceType(), referent);
  registerMovingMethodHandler(cpython::weakReferenceType(), "__init__", initialize);
}
ARMATURE_REGISTER_HANDLERS(registerWeakReferences);

}  // namespace

}  // namespace armature
