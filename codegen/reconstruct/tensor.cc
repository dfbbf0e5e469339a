// Results of the graph stand in locals; the graph itself does what is done to tensors in place.
#include "codegen/reconstruct/reconstructor.h"

namespace armature {

namespace {

class TensorReconstructor : public Reconstructor {
 public:
  void replay(PyCodegen&, const Effect&) const override {}
};

}  // namespace

ARMATURE_RECONSTRUCTOR(Tensor)

}  // namespace armature
