// Results of the graph stand in locals; the graph itself does what is done to tensors in place.
#include "variables/tensors/tensor.h"

#include "codegen/py_codegen.h"
#include "codegen/reconstruct/builtin_types.h"
#include "codegen/reconstruct/reconstructor.h"
#include "variables/containers/dict.h"

namespace armature {

namespace {

TensorVariable* tensorOf(VariableTracker* tracker) { return llvm::cast<TensorVariable>(tracker); }

// Those to which the program has put something.
class TensorReconstructor : public Reconstructor {
 public:
  Steps steps(VariableTracker*) const override { return Steps::Two; }

  void holds(Translator& translator, VariableTracker* tracker, PartVisitor visit) const override {
    TensorVariable* tensor = tensorOf(tracker);
    if (tensor->heldBy) visit(tensor->held);
    if (!tensor->attributes) return;
    tensor->attributes->forEach(translator, [&](const OrderedValueMap::Entry& entry) {
      visit(entry.key);
      visit(entry.value);
    });
  }

  // The graph has made it.
  void allocate(PyCodegen& codegen, VariableTracker* tracker, int32_t local) const override {
    codegen.load(tracker);
    codegen.assembler().emit(Opcode::STORE_FAST, local);
  }

  void fill(PyCodegen& codegen, VariableTracker* tracker) const override {
    TensorVariable* tensor = tensorOf(tracker);
    if (tensor->attributes) fillInstanceDict(codegen, tensor, tensor->attributes);
    if (tensor->heldBy) {
      setThroughDescriptor(codegen, tensor->heldBy.object(), tensor, tensor->held);
    }
  }

  void storedBy(Translator&, const Effect& effect, PartVisitor visit) const override {
    if (effect.kind == EffectKind::SlotSet) visit(tensorOf(effect.target)->held);
  }

  void replay(PyCodegen& codegen, const Effect& effect) const override {
    if (effect.kind != EffectKind::SlotSet) return;
    setThroughDescriptor(codegen, effect.key.object(), effect.target,
                         tensorOf(effect.target)->held);
  }
};

}  // namespace

ARMATURE_RECONSTRUCTOR(Tensor)

}  // namespace armature
