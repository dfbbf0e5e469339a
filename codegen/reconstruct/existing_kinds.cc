// Kinds whose objects existed before the trace, so that they are loaded from where they are; and
// suspended frames, for which there is no bytecode.
#include "codegen/reconstruct/reconstructor.h"

namespace armature {

namespace {

using LazyReconstructor = Reconstructor;
using UserClassReconstructor = Reconstructor;
using PropertyReconstructor = Reconstructor;
using OpaqueReconstructor = Reconstructor;
using GeneratorReconstructor = Reconstructor;

}  // namespace

ARMATURE_RECONSTRUCTOR(Lazy)
ARMATURE_RECONSTRUCTOR(UserClass)
ARMATURE_RECONSTRUCTOR(Property)
ARMATURE_RECONSTRUCTOR(Opaque)
ARMATURE_RECONSTRUCTOR(Generator)

}  // namespace armature
