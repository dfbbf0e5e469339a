#include "variables/functions/key_wrapper.h"

#include "codegen/py_codegen.h"
#include "codegen/reconstruct/reconstructor.h"

namespace armature {

namespace {

class KeyWrapperReconstructor : public Reconstructor {
 public:
  void needs(Translator&, VariableTracker* tracker, PartVisitor visit) const override {
    auto* wrapper = llvm::cast<KeyWrapperVariable>(tracker);
    visit(wrapper->comparison);
    if (wrapper->object) visit(wrapper->object);
  }
  void build(PyCodegen& codegen, VariableTracker* tracker) const override {
    auto* wrapper = llvm::cast<KeyWrapperVariable>(tracker);
    if (wrapper->object) codegen.assembler().emit(Opcode::PUSH_NULL);
    codegen.prepareCall(comparisonToKey());
    codegen.load(wrapper->comparison);
    codegen.call(1);
    if (!wrapper->object) return;
    codegen.load(wrapper->object);
    codegen.call(1);
  }
};

}  // namespace

ARMATURE_RECONSTRUCTOR(KeyWrapper)

}  // namespace armature
