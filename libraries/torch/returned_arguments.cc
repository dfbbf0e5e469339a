#include "libraries/torch/returned_arguments.h"

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/DenseSet.h>

#include "libraries/torch/changed_arguments.h"
#include "libraries/torch/memory_relations.h"
#include "libraries/torch/operation_nodes.h"

namespace armature {

namespace {

// The argument that the call returns, of which its schema says nothing; null for all others.
Node* returnedArgument(const Node& node) {
  bool isDropout = node.isCall() && nameOf(node) == "dropout" && !changesArgument(node);
  bool isReturned = isDropout && node.metadata && node.metadata->mayBeView;
  return isReturned ? inputAt(node, 0) : nullptr;
}

}  // namespace

void resolveReturnedArguments(Graph& graph, std::vector<Node*>& results) {
  llvm::DenseMap<Node*, Node*> arguments;
  llvm::DenseSet<Node*> places;
  for (const auto& node : graph.nodes()) {
    if (node->body) {
      std::vector<Node*> inner;
      forEachInput(node->body->output(), [&](Node* each) { inner.push_back(each); });
      resolveReturnedArguments(*node->body, inner);
      Argument output = node->body->output();
      auto next = inner.begin();
      output.replaceNodes([&](Node*) { return *next++; });
      node->body->returns(std::move(output));
    }
    Node* argument = returnedArgument(*node);
    if (!argument) continue;
    auto known = arguments.find(argument);
    arguments[node.get()] = known == arguments.end() ? argument : known->second;
    for (Node* root : memoryRoots(argument)) places.insert(root);
  }
  if (arguments.empty()) return;

  auto isSeen = [&](Node* array) {
    return llvm::any_of(memoryRoots(array), [&](Node* root) { return places.contains(root); });
  };
  bool anySeen = llvm::any_of(results, isSeen) || llvm::any_of(graph.nodes(), [&](auto& node) {
                   return changesArgument(*node) && llvm::any_of(changedArrays(*node), isSeen);
                 });
  if (!anySeen) return;
  auto resolved = [&](Node* node) {
    auto found = arguments.find(node);
    return found == arguments.end() ? node : found->second;
  };
  for (const auto& node : graph.nodes()) {
    for (Argument& argument : node->arguments) argument.replaceNodes(resolved);
    for (auto& [name, argument] : node->keywordArguments) argument.replaceNodes(resolved);
  }
  for (Node*& result : results) result = resolved(result);
}

}  // namespace armature
