// Results of the graph stand in locals; the graph itself does what is done to tensors in place.
#include "variables/tensors/tensor.h"

#include "codegen/reconstruct/builtin_types.h"
#include "codegen/reconstruct/call_result.h"
#include "codegen/reconstruct/reconstructor.h"

namespace armature {

namespace {

class TensorReconstructor : public Reconstructor {
 public:
  void storedBy(Translator&, const Effect& effect, PartVisitor visit) const override {
    if (effect.kind == EffectKind::SlotSet) visit(heldBy(effect));
    if (effect.kind == EffectKind::Call) visitCall(effect, visit);
  }

  void replay(PyCodegen& codegen, const Effect& effect) const override {
    if (effect.kind == EffectKind::Call) return replayCall(codegen, effect);
    if (effect.kind != EffectKind::SlotSet) return;
    setThroughDescriptor(codegen, effect.key.object(), effect.target, heldBy(effect));
  }

 private:
  static const Value& heldBy(const Effect& effect) {
    return llvm::cast<TensorVariable>(effect.target)->held;
  }
};

}  // namespace

ARMATURE_RECONSTRUCTOR(Tensor)

}  // namespace armature
