#include "libraries/torch/autograd_results.h"

#include "libraries/torch/dtypes.h"
#include "variables/containers/sequence.h"
#include "variables/protocol/object_protocol.h"
#include "variables/tensors/tensor.h"

namespace armature {

void refuseAutogradFunction(const char* reason) {
  throw GraphBreak(GraphBreakKind::UnsupportedLibraryFunction, "torch.autograd.Function.apply",
                   reason);
}

llvm::SmallVector<Node*, 4> AutogradResults::nodesOf(Translator& translator,
                                                     llvm::ArrayRef<Value> values) {
  llvm::SmallVector<Node*, 4> nodes;
  for (const Value& value : values) {
    auto* tensor = trackerOf<TensorVariable>(translator.realized(value));
    nodes.push_back(tensor ? tensor->node : nullptr);
  }
  return nodes;
}

bool AutogradResults::collect(const Value& result, const Value& marked) {
  Value whole = translator_.realized(result);
  isTuple_ = typeOf(whole) == &PyTuple_Type;
  if (!isTuple_) {
    values_.push_back(whole);
  } else if (!iterateInto(translator_, whole, values_)) {
    return false;
  }
  for (Value& each : values_) {
    translator_.realize(each);
    auto* tensor = trackerOf<TensorVariable>(each);
    if (!tensor && !each.objectOrNull()) refuseAutogradFunction("forward() returns objects");
    if (!tensor) continue;
    bool isArgument = llvm::is_contained(arguments_, tensor->node);
    if (!isArgument && !isComputed(tensor->node)) {
      refuseAutogradFunction("forward() returns a tensor of others");
    }
    if (llvm::is_contained(tensors_, tensor->node)) {
      refuseAutogradFunction("forward() returns a tensor twice");
    }
    tensors_.push_back(tensor->node);
  }
  if (tensors_.empty()) refuseAutogradFunction("forward() returns no tensor");
  if (!marked) return true;
  ValueVector items;
  if (!iterateInto(translator_, marked, items)) return false;
  for (Node* node : nodesOf(translator_, items)) {
    if (node) marked_.push_back(node);
  }
  return true;
}

// Without what autograd adds, that of the nodes inside.
std::shared_ptr<const TensorMetadata> AutogradResults::metadataOf(Node* node) {
  const Library& library = *findLibrary(ArrayLibraryKind::Torch);
  const TensorMetadata* inside = library.metadata(node, translator_);
  if (!inside) throw PendingPythonException();
  auto metadata = std::make_shared<TensorMetadata>(*inside);
  bool isDifferentiable = isFloating(inside->dtype) || isComplex(inside->dtype);
  metadata->requiresGrad = isDifferentiable && !isMarked(node);
  metadata->isLeaf = !metadata->requiresGrad;
  if (!isComputed(node)) metadata->mayBeView = true;
  metadata->isParameter = false;
  metadata->dispatchKeys = 0;
  return metadata;
}

llvm::SmallVector<std::shared_ptr<const TensorMetadata>, 2> AutogradResults::metadata() {
  llvm::SmallVector<std::shared_ptr<const TensorMetadata>, 2> result;
  for (Node* tensor : tensors_) result.push_back(metadataOf(tensor));
  return result;
}

Value AutogradResults::build(llvm::ArrayRef<Node*> items) {
  const Library& library = *findLibrary(ArrayLibraryKind::Torch);
  auto* next = items.begin();
  for (Value& value : values_) {
    if (!trackerOf<TensorVariable>(value)) continue;
    value = translator_.make<TensorVariable>(library.arrayType(), *next++, &library);
  }
  return isTuple_ ? makeTuple(translator_, std::move(values_)) : values_[0];
}

}  // namespace armature
