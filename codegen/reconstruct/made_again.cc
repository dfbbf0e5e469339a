#include "variables/constants/made_again.h"

#include "codegen/py_codegen.h"
#include "codegen/reconstruct/reconstructor.h"
#include "codegen/unsupported.h"
#include "variables/protocol/object_protocol.h"

namespace armature {

namespace {

class MadeAgainReconstructor : public Reconstructor {
 public:
  void build(PyCodegen& codegen, VariableTracker* tracker) const override {
    const Ref<>& maker = llvm::cast<MadeAgainVariable>(tracker)->maker;
    if (!maker) throw UnsupportedReconstruction(describe(tracker));
    codegen.prepareCall(maker);
    codegen.call(0);
  }
};

}  // namespace

ARMATURE_RECONSTRUCTOR(MadeAgain)

}  // namespace armature
