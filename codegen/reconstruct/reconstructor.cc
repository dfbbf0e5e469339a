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

namespace {

class ReconstructedParts : public Parts {
 public:
  void ofObject(Translator& translator, VariableTracker* tracker,
                PartVisitor visit) const override {
    if (tracker->instance) return visit(tracker->instance);
    const Reconstructor& reconstructor = reconstructorOf(tracker->kind());
    reconstructor.needs(translator, tracker, visit);
    reconstructor.holds(translator, tracker, visit);
  }
  void ofEffect(Translator& translator, const Effect& effect, PartVisitor visit) const override {
    reconstructorOf(effect.target->kind()).storedBy(translator, effect, visit);
  }
};

}  // namespace

const Parts& reconstructedParts() {
  static const ReconstructedParts parts;
  return parts;
}

}  // namespace armature
