#include "codegen/py_codegen.h"
#include "codegen/reconstruct/reconstructor.h"
#include "variables/containers/sequence.h"

namespace armature {

namespace {

class SliceReconstructor : public Reconstructor {
 public:
  void needs(Translator&, VariableTracker* tracker, PartVisitor visit) const override {
    auto* slice = llvm::cast<SliceVariable>(tracker);
    visit(slice->start), visit(slice->stop), visit(slice->step);
  }
  void build(PyCodegen& codegen, VariableTracker* tracker) const override {
    needs(codegen.translator(), tracker, [&](const Value& part) { codegen.load(part); });
    codegen.assembler().emit(Opcode::BUILD_SLICE, 3);
  }
};

}  // namespace

ARMATURE_RECONSTRUCTOR(Slice)

}  // namespace armature
