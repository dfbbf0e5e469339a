#include "variables/constants/made_again.h"

#include "codegen/py_codegen.h"
#include "codegen/reconstruct/reconstructor.h"
#include "codegen/unsupported.h"
#include "variables/protocol/object_protocol.h"

namespace armature {

namespace {

class MadeAgainReconstructor : public Reconstructor {
 public:
  void needs(Translator&, VariableTracker* tracker, PartVisitor visit) const override {
    for (const Value& part : llvm::cast<MadeAgainVariable>(tracker)->parts) visit(part);
  }
  void build(PyCodegen& codegen, VariableTracker* tracker) const override {
    auto* constant = llvm::cast<MadeAgainVariable>(tracker);
    if (!constant->maker) throw UnsupportedReconstruction(describe(tracker));
    codegen.prepareCall(constant->maker);
    if (constant->likeness) codegen.loadConstant(constant->likeness);
    for (const Value& part : constant->parts) codegen.load(part);
    codegen.call(static_cast<int32_t>((constant->likeness ? 1 : 0) + constant->parts.size()));
  }
};

}  // namespace

ARMATURE_RECONSTRUCTOR(MadeAgain)

}  // namespace armature
