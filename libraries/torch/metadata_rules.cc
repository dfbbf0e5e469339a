#include "libraries/torch/metadata_rules.h"

#include "libraries/torch/metadata_rules/result.h"
#include "libraries/torch/metadata_rules/table.h"

namespace armature {

namespace {

// More make some operations fail.
constexpr int64_t kMostDimensions = 25;

// What all rules assume of their inputs.
class Precondition {
 public:
  bool holds(const ResultStructure& input) {
    if (input.metadata) return holds(*input.metadata);
    for (const ResultStructure& element : input.elements) {
      if (!holds(element)) return false;
    }
    return true;
  }

 private:
  bool holds(const TensorMetadata& tensor) {
    bool isPlain = tensor.library == ArrayLibraryKind::Torch && tensor.isStrided &&
                   !tensor.isConjugate && !tensor.isNegative && !tensor.isInference &&
                   isCommon(tensor.dtype) && tensor.dimension() <= kMostDimensions;
    if (!isPlain) return false;
    if (!device_) device_ = &tensor.device;
    return *device_ == tensor.device;
  }

  const Device* device_ = nullptr;
};

bool hasOverlap(const TensorMetadata& tensor) {
  for (size_t i = 0; i < tensor.sizes.size(); ++i) {
    if (tensor.strides[i] == 0 && tensor.sizes[i] > 1) return true;
  }
  return false;
}

// Can a result of the one dtype be stored in a tensor of the other?
bool canStore(DType from, DType into) {
  if (isComplex(from) && !isComplex(into)) return false;
  if (isFloating(from) && (isIntegral(into) || into == Bool)) return false;
  return from == Bool || into != Bool;
}

// From the result of an operation, the first argument after the same operation in place.
bool storeInFirst(const Call& call, ResultStructure& result) {
  const TensorMetadata* self = call.tensor(0);
  if (!self || !result.metadata) return false;
  const TensorMetadata& computed = *result.metadata;
  if (computed.sizes != self->sizes || !canStore(computed.dtype, self->dtype)) return false;
  // What autograd and the memory forbid, torch says better.
  bool mayDiffer = call.gradientsFlow();
  if (hasOverlap(*self) || (mayDiffer && self->requiresGrad && self->isLeaf)) return false;
  MetadataPointer changed = viewOf(*self);
  changed->isParameter = self->isParameter;
  if (mayDiffer && (isFloating(self->dtype) || isComplex(self->dtype))) {
    changed->requiresGrad = true;
    changed->isLeaf = false;
  }
  result.metadata = std::move(changed);
  return true;
}

}  // namespace

bool applyMetadataRule(const Node& node, InputStructures inputs, ResultStructure& result) {
  const RuleEntry* entry = findRule(node);
  if (!entry) return false;
  Precondition precondition;
  bool holds = true;
  forEachInput(node, [&](Node* input) { holds = holds && precondition.holds(inputs(*input)); });
  Call call(node, inputs);
  ResultStructure computed;
  if (!holds || !call.bind(entry->parameters)) return false;
  if (entry->needsSelf && !call.tensor(0)) return false;
  try {
    if (!entry->rule(call, computed)) return false;
  } catch (const DimensionOverflow&) {
    return false;
  } catch (const MissingArgument&) {
    return false;
  }
  if (entry->isInPlace && !storeInFirst(call, computed)) return false;
  result = std::move(computed);
  return true;
}

bool isElementwise(const Node& node) {
  const RuleEntry* entry = findRule(node);
  return entry && entry->isElementwise;
}

}  // namespace armature
