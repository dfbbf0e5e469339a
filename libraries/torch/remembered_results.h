// What torch has said of the operations of one trace. Models repeat their layers, and to ask torch
// costs as much as the rest of the trace.
#pragma once

#include <llvm/ADT/StringMap.h>

#include <memory>
#include <string>
#include <vector>

#include "libraries/torch/meta_evaluation.h"

namespace armature {

class RememberedResults {
 public:
  // Those that the observer has heard of: they live as long as it does, so that nothing of torch
  // that they rest on changes meanwhile but by nodes of the graph, which their modes tell.
  static RememberedResults& of(Observer& observer, const Library& library);

  // All that the result of the operation depends on: what is known of its inputs, its constants and
  // its mode. Empty where it may depend on something else.
  static std::string keyOf(const Node& node, InputStructures inputs);

  // Null if there is none of that key.
  const ResultStructure* find(const std::string& key) const;
  // Arrays that are none of the node's inputs are remembered, and nothing else.
  void add(const std::string& key, const Node& node, const ResultStructure& result);

 private:
  llvm::StringMap<ResultStructure> results_;
  std::vector<Ref<>> targets_;  // alive, so that no other object has their addresses
};

}  // namespace armature
