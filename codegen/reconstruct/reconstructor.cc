#include "codegen/reconstruct/reconstructor.h"

#include <llvm/ADT/DenseSet.h>

#include <vector>

#include "codegen/unsupported.h"
#include "interpreter/instruction_translator.h"
#include "variables/protocol/object_protocol.h"
#include "variables/tensors/tensor.h"

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

bool leadsTo(InstructionTranslator& translator, const Value& value,
             llvm::function_ref<bool(const VariableTracker*)> isWanted) {
  llvm::DenseSet<VariableTracker*> seen;
  std::vector<VariableTracker*> pending;
  auto visit = [&](const Value& part) {
    VariableTracker* tracker = translator.newObject(part);
    if (!tracker) tracker = trackerOf<TensorVariable>(part);
    if (tracker && seen.insert(tracker).second) pending.push_back(tracker);
  };
  visit(value);
  while (!pending.empty()) {
    VariableTracker* tracker = pending.back();
    pending.pop_back();
    if (isWanted(tracker)) return true;
    if (llvm::isa<TensorVariable>(tracker) || translator.owns(tracker)) continue;
    reconstructedParts().ofObject(translator, tracker, visit);
  }
  return false;
}

}  // namespace armature
