#include "codegen/reconstruct/builtin_types.h"
#include "codegen/reconstruct/reconstructor.h"

namespace armature {

namespace {

class ExistingIteratorReconstructor : public Reconstructor {
 public:
  void replay(PyCodegen& codegen, const Effect& effect) const override {
    replayAdvance(codegen, effect);
  }
};

}  // namespace

ARMATURE_RECONSTRUCTOR(ExistingIterator)

}  // namespace armature
