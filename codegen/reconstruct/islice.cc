#include "codegen/reconstruct/builtin_types.h"
#include "codegen/reconstruct/reconstructor.h"

namespace armature {

namespace {

class IsliceReconstructor : public Reconstructor {
 public:
  void replay(PyCodegen& codegen, const Effect& effect) const override {
    if (effect.kind == EffectKind::IteratorAdvance) {
      replayAdvance(codegen, effect);
    } else {
      replayEnd(codegen, effect);
    }
  }
};

}  // namespace

ARMATURE_RECONSTRUCTOR(Islice)

}  // namespace armature
