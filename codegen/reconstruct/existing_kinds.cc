// Kinds whose objects existed before the trace, so that they are loaded from where they are.
#include "codegen/reconstruct/reconstructor.h"

namespace armature {

namespace {

using LazyReconstructor = Reconstructor;
using UserClassReconstructor = Reconstructor;
using PropertyReconstructor = Reconstructor;
using OpaqueReconstructor = Reconstructor;

}  // namespace

ARMATURE_RECONSTRUCTOR(Lazy)
ARMATURE_RECONSTRUCTOR(UserClass)
ARMATURE_RECONSTRUCTOR(Property)
ARMATURE_RECONSTRUCTOR(Opaque)

}  // namespace armature
