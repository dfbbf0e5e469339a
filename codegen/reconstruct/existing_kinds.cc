// A kind whose objects existed before the trace, so that they are loaded from where they are.
#include "codegen/reconstruct/reconstructor.h"

namespace armature {

namespace {

using LazyReconstructor = Reconstructor;

}  // namespace

ARMATURE_RECONSTRUCTOR(Lazy)

}  // namespace armature
