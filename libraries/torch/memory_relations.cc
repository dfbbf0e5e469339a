#include "libraries/torch/memory_relations.h"

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/DenseSet.h>

#include <array>
#include <string_view>
#include <vector>

#include "core/checked.h"
#include "core/text.h"
#include "cpython/imported_modules.h"
#include "libraries/torch/callable_names.h"
#include "libraries/torch/changed_arguments.h"
#include "libraries/torch/metadata_rules.h"
#include "libraries/torch/operation_nodes.h"
#include "shapes/memory_overlap.h"

namespace armature {

namespace {

bool isInput(const Node& node) { return node.operation == NodeOperation::Placeholder; }

// Does the call return memory that nothing else has, by its name?
bool makesMemory(const Node& call) {
  static constexpr std::array kNames = {
      "clone",    "empty",     "empty_like", "full",      "full_like", "new_full",  "new_empty",
      "new_ones", "new_zeros", "ones",       "ones_like", "zeros",     "zeros_like"};
  bool isMethod = call.operation == NodeOperation::CallMethod;
  if (!isMethod && callableNames().of(call.target).module != "torch") return false;
  std::string_view name =
      isMethod ? stringView(call.target) : std::string_view(callableNames().of(call.target).name);
  bool isTold = llvm::any_of(call.keywordArguments, [](const auto& keyword) {
    return stringView(keyword.first) == "out";
  });
  return llvm::is_contained(kNames, name) && !isTold;
}

}  // namespace

llvm::SmallSetVector<Node*, 4> memoryRoots(Node* array) {
  llvm::SmallSetVector<Node*, 4> roots;
  std::vector<Node*> pending = {array};
  llvm::DenseSet<Node*> seen = {array};
  while (!pending.empty()) {
    Node* node = pending.back();
    pending.pop_back();
    auto follow = [&](Node* input) {
      if (seen.insert(input).second) pending.push_back(input);
    };
    bool isChanged = changesArgument(*node) && returnsChanged(*node);
    bool isNew = node->metadata && !node->metadata->mayBeView && !isChanged;
    bool isOwn = isInput(*node) || isNew;
    size_t before = pending.size();
    if (isChanged) {
      for (Node* changed : changedArrays(*node)) follow(changed);
    } else if (!isOwn) {
      forEachInput(*node, follow);
    }
    if (isOwn || pending.size() == before) roots.insert(node);
  }
  return roots;
}

bool ownsMemory(const Node& array) {
  std::vector<const Node*> pending = {&array};
  llvm::DenseSet<const Node*> seen = {&array};
  while (!pending.empty()) {
    const Node* node = pending.back();
    pending.pop_back();
    if (!node->isCall()) return false;
    if (makesMemory(*node) || (node->metadata && !node->metadata->mayBeView)) continue;
    bool hasInputs = false;
    forEachInput(*node, [&](Node* input) {
      hasInputs = true;
      if (seen.insert(input).second) pending.push_back(input);
    });
    if (!hasInputs) return false;
  }
  return true;
}

bool placeDependsOnData(const Node& array) {
  std::vector<const Node*> pending = {&array};
  llvm::DenseSet<const Node*> seen = {&array};
  while (!pending.empty()) {
    const Node* node = pending.back();
    pending.pop_back();
    if (!node->isCall() || (node->metadata && !node->metadata->mayBeView)) continue;
    const Node* viewed = nullptr;
    bool isTakenAtArray = false;
    forEachInput(*node, [&](Node* input) {
      if (!viewed) viewed = input;
      isTakenAtArray |= input != viewed && input->metadata && input->metadata->sizes.empty();
      if (seen.insert(input).second) pending.push_back(input);
    });
    if (isTakenAtArray) return true;
  }
  return false;
}

bool mayMeetInMemory(const Node& node, InputStructures inputs) {
  if (!changesArgument(node)) return false;
  auto mayBeView = [&](const Node& each) {
    const TensorMetadata* metadata = inputs(each).metadata.get();
    return !metadata || metadata->mayBeView;
  };
  auto meet = [&](const Node* changed) {
    // What the trace has made is shared by views that it has made of it, and by nothing else.
    bool isOwn = changed && !isInput(*changed) && !mayBeView(*changed);
    bool mayMeet = false;
    int arrays = 0;
    forEachInput(node, [&](Node* input) {
      ++arrays;
      if (input == changed) return;
      mayMeet |=
          isOwn ? !isInput(*input) && mayBeView(*input) : isInput(*input) || mayBeView(*input);
    });
    return arrays > 1 && mayMeet;
  };
  auto changed = changedArrays(node);
  return changed.empty() ? meet(nullptr) : llvm::any_of(changed, meet);
}

bool areApartInMemory(const Node& node, Observer& observer) {
  auto changed = changedArrays(node);
  if (changed.empty()) return false;
  llvm::SmallSetVector<Node*, 8> arrays;
  forEachInput(node, [&](Node* input) { arrays.insert(input); });
  std::vector<llvm::SmallSetVector<Node*, 4>> roots;
  llvm::SmallSetVector<Node*, 8> places;
  for (Node* array : arrays) roots.push_back(memoryRoots(array));
  for (size_t i = 0; i < arrays.size(); ++i) {
    if (!llvm::is_contained(changed, arrays[i])) continue;
    for (size_t k = 0; k < arrays.size(); ++k) {
      bool meet =
          k != i && llvm::any_of(roots[i], [&](Node* root) { return roots[k].count(root); });
      if (meet) return false;
    }
  }
  for (const auto& each : roots) {
    for (Node* root : each) {
      if (isInput(*root)) places.insert(root);
    }
  }
  return observer.areApart(places.getArrayRef());
}

namespace {

// Of an assignment to items that are a view of the array, where that lies; null for all others.
std::shared_ptr<const TensorMetadata> placeOfItems(const Node& node) {
  const CallableName& name = callableNames().of(node.target);
  if (name.module != "operator" || name.name != "setitem" || node.arguments.size() != 3) {
    return nullptr;
  }
  static PyObject* const getitem = [] {
    Ref<> module = checked(cpython::importModule("operator"));
    return checked(PyObject_GetAttrString(module.get(), "getitem")).release();
  }();
  Node items{};
  items.operation = NodeOperation::CallFunction;
  items.target = Ref<>::create(getitem);
  items.arguments = {node.arguments[0], node.arguments[1]};
  KnownArrays inputs;
  ResultStructure result;
  if (!applyMetadataRule(items, inputs, result) || !result.metadata) return nullptr;
  return result.metadata->mayBeView ? result.metadata : nullptr;
}

}  // namespace

bool isOfAnyChanged(const Node& node, MetadataOf metadata,
                    llvm::function_ref<bool(const Node&, const TensorMetadata&)> predicate) {
  if (!changesArgument(node)) return false;
  llvm::SmallVector<Node*, 8> pending;
  llvm::append_range(pending, changedArrays(node));
  llvm::DenseSet<Node*> seen(pending.begin(), pending.end());
  while (!pending.empty()) {
    Node* array = pending.pop_back_val();
    const TensorMetadata* known = metadata(array);
    if (known && predicate(*array, *known)) return true;
    if (!array->isCall() || (known && !known->mayBeView)) continue;
    forEachInput(*array, [&](Node* input) {
      if (seen.insert(input).second) pending.push_back(input);
    });
  }
  return false;
}

bool readsWhatItWrites(const Node& node, MetadataOf metadata) {
  if (!changesArgument(node)) return false;
  auto changed = changedArrays(node);
  if (changed.empty()) return false;
  llvm::SmallVector<Node*, 8> arrays;  // as often as they are given
  llvm::SmallVector<const TensorMetadata*, 8> places;
  forEachInput(node, [&](Node* input) {
    arrays.push_back(input);
    places.push_back(metadata(input));
  });
  if (llvm::is_contained(places, nullptr)) return false;  // the operation is not foretold either
  llvm::DenseMap<Node*, llvm::SmallVector<size_t, 2>> inMemory;
  std::vector<llvm::SmallSetVector<Node*, 4>> roots;
  for (size_t i = 0; i < arrays.size(); ++i) {
    for (Node* root : roots.emplace_back(memoryRoots(arrays[i]))) inMemory[root].push_back(i);
  }
  std::shared_ptr<const TensorMetadata> items = placeOfItems(node);
  bool isInOrder = items || isElementwise(node);
  llvm::DenseSet<Node*> written(changed.begin(), changed.end());
  for (size_t i = 0; i < arrays.size(); ++i) {
    if (!written.contains(arrays[i])) continue;
    const TensorMetadata& place = items ? *items : *places[i];
    if (mayOverlapItself(place)) return true;
    for (Node* root : roots[i]) {
      for (size_t k : inMemory[root]) {
        bool isSame = k == i || (isInOrder && haveSamePlaces(place, *places[k]));
        if (!isSame && mayOverlap(place, *places[k])) return true;
      }
    }
  }
  return false;
}

}  // namespace armature
