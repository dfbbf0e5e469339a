#include "codegen/py_codegen.h"
#include "codegen/reconstruct/reconstructor.h"
#include "variables/objects/context_manager.h"

namespace armature {

namespace {

class ContextExitReconstructor : public Reconstructor {
 public:
  void needs(Translator&, VariableTracker* tracker, PartVisitor visit) const override {
    visit(llvm::cast<ContextExitVariable>(tracker)->manager);
  }
  void build(PyCodegen& codegen, VariableTracker* tracker) const override {
    codegen.load(llvm::cast<ContextExitVariable>(tracker)->manager);
    codegen.assembler().emitName(Opcode::LOAD_ATTR, "__exit__");
  }
};

}  // namespace

ARMATURE_RECONSTRUCTOR(ContextExit)

}  // namespace armature
