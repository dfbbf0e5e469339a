#include "libraries/torch/changes_under_autograd.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "libraries/torch/changed_arguments.h"
#include "libraries/torch/memory_relations.h"
#include "libraries/torch/operation_nodes.h"
#include "libraries/torch/regions.h"

namespace armature {

namespace {

bool isOneOfSeveral(const Node& array) {
  const Node* made = nameOf(array) == "getitem" ? inputAt(array, 0) : nullptr;
  return made && made->isCall() && !made->metadata;
}

bool needsGradients(const Node& array) { return array.metadata && array.metadata->requiresGrad; }

bool isView(const Node& node) {
  return node.isCall() && node.metadata && node.metadata->mayBeView && !changesArgument(node);
}

bool changesRefusedView(const Node& node) {
  bool givesGradients = false;
  forEachInput(node, [&](Node* input) { givesGradients |= needsGradients(*input); });
  if (!givesGradients || !hasGradients(node.mode)) return false;
  auto changed = changedArrays(node);
  auto metadata = [](Node* each) { return each->metadata.get(); };
  return isOfAnyChanged(node, metadata, [&](const Node& array, const TensorMetadata& known) {
    if (!array.isCall()) {
      bool isBase = !llvm::is_contained(changed, &array);
      return isBase && known.isLeaf && known.requiresGrad;
    }
    return isView(array) &&
           (isOneOfSeveral(array) || callsBodies(array) || !hasGradients(array.mode));
  });
}

using Places = llvm::SmallSetVector<Node*, 4>;

Places changedPlaces(const Node& node) {
  Places places;
  for (Node* changed : changedArrays(node)) {
    for (Node* root : memoryRoots(changed)) places.insert(root);
  }
  return places;
}

bool isAt(Node* array, const Places& places) {
  return llvm::any_of(memoryRoots(array), [&](Node* root) { return places.contains(root); });
}

// Of these, autograd keeps none of the operands.
bool keepsNoOperand(std::string_view name) {
  static constexpr std::array<std::string_view, 22> kNames = {
      "__add__", "__neg__", "__sub__", "add",  "cat",  "clone", "contiguous", "float",
      "getitem", "half",    "iadd",    "isub", "long", "mean",  "neg",        "pad",
      "roll",    "setitem", "stack",   "sub",  "sum",  "to"};
  static_assert(std::ranges::is_sorted(kNames));
  return std::ranges::binary_search(kNames, name);
}

// Of these, it keeps the result.
bool keepsResult(std::string_view name) {
  static constexpr std::array<std::string_view, 18> kNames = {
      "celu",        "cumprod",    "elu",  "exp",   "exp2",  "expm1",
      "log_softmax", "reciprocal", "relu", "relu6", "rsqrt", "selu",
      "sigmoid",     "softmax",    "sqrt", "tan",   "tanh",  "threshold"};
  static_assert(std::ranges::is_sorted(kNames));
  return std::ranges::binary_search(kNames, name);
}

}  // namespace

bool dependsOnHistoryOfViews(const Graph& graph) {
  auto isUnrecorded = [](const Node& node) {
    return isView(node) && !hasGradients(node.mode) && needsGradients(node);
  };
  Places unrecorded;
  for (const auto& node : graph.nodes()) {
    if (!isUnrecorded(*node)) continue;
    for (Node* root : memoryRoots(node.get())) unrecorded.insert(root);
  }
  bool isGiven = false;
  forEachInput(*graph.nodes().back(), [&](Node* result) { isGiven |= isUnrecorded(*result); });
  if (isGiven) return true;
  return llvm::any_of(graph.nodes(), [&](const auto& node) {
    if (!node->isCall() || !changesArgument(*node)) return false;
    bool isSeen = !unrecorded.empty() && llvm::any_of(changedArrays(*node), [&](Node* changed) {
      return isAt(changed, unrecorded);
    });
    return isSeen || changesRefusedView(*node);
  });
}

bool givesHiddenView(const Graph& graph) {
  bool gives = false;
  forEachInput(*graph.nodes().back(), [&](Node* result) {
    for (Node* array = result; array && array->isCall() && !gives; array = inputAt(*array, 0)) {
      gives = nameOf(*array) == "data";
      if (!isView(*array)) break;
    }
  });
  return gives;
}

bool mayChangeSaved(const Node& node, const Graph& graph) {
  if (!changesArgument(node)) return false;
  Places places = changedPlaces(node);
  if (places.empty()) return false;
  return llvm::any_of(graph.nodes(), [&](const auto& other) {
    bool isRecorded = other.get() != &node && other->isCall() && hasGradients(other->mode) &&
                      needsGradients(*other) && !isView(*other);
    if (!isRecorded) return false;
    std::string_view name = nameOf(*other);
    if (keepsResult(name) && isAt(other.get(), places)) return true;
    if (keepsNoOperand(name)) return false;
    if (changesArgument(*other) &&
        llvm::any_of(changedArrays(*other), [&](Node* array) { return isAt(array, places); })) {
      return false;
    }
    bool keeps = false;
    forEachInput(*other, [&](Node* input) { keeps = keeps || isAt(input, places); });
    return keeps;
  });
}

}  // namespace armature
