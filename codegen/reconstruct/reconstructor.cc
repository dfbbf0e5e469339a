#include "codegen/reconstruct/reconstructor.h"

#include "codegen/unsupported.h"
#include "variables/protocol/object_protocol.h"

namespace armature {

void Reconstructor::build(PyCodegen&, VariableTracker* tracker) const {
  throw UnsupportedReconstruction(describe(tracker));
}

void Reconstructor::allocate(PyCodegen&, VariableTracker* tracker, int32_t) const {
  throw UnsupportedReconstruction(describe(tracker));
}

void Reconstructor::fill(PyCodegen&, VariableTracker* tracker) const {
  throw UnsupportedReconstruction(describe(tracker));
}

void Reconstructor::replay(PyCodegen&, const Effect& effect) const {
  throw UnsupportedReconstruction("a change of " + describe(effect.target));
}

const Reconstructor& reconstructorOf(VariableKind kind) {
  switch (kind) {
#define KIND(name)         \
  case VariableKind::name: \
    return name##Reconstruction();
#include "variables/variable_kinds.def"
  }
  __builtin_unreachable();
}

}  // namespace armature
