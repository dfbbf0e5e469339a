// What the nodes of torch's operations say of themselves.
#pragma once

#include <string_view>
#include <unordered_map>

#include "graph/graph.h"
#include "variables/library.h"

namespace armature {

// A function's name, or a method's, or that of the attribute which getattr reads.
std::string_view nameOf(const Node& node);

// The node that the positional argument is; null if it is none, or not given.
Node* inputAt(const Node& node, size_t position);

// By the name of an operation: sets it the grad mode, enters or leaves it a region of autocast?
bool setsGradMode(std::string_view name);
bool changesAutocast(std::string_view name);

// An argument that is the graph of a body; a node that calls such graphs.
bool isBody(const Argument& argument);
bool callsBodies(const Node& node);

// Raises the operation on no data, given that shapes and dtypes fit?
bool neverRaisesOnData(const Node& node);
// Takes the operation all numbers alike that fit into 64 bits, whatever their value?
bool takesAnyNumber(const Node& node);
// Has it an argument that is a number which varies, whose value may make it raise?
bool mayRaiseForNumber(const Node& node);

// The structures of nodes whose results are known to be arrays, made as they are asked for.
class KnownArrays {
 public:
  const ResultStructure& operator()(const Node& node) {
    auto [entry, isNew] = structures_.try_emplace(&node);
    if (isNew) entry->second.metadata = node.metadata;
    return entry->second;
  }

 private:
  std::unordered_map<const Node*, ResultStructure> structures_;
};

// How a library says that the operation raises: the exception is set.
bool isFailure(const ResultStructure& result);
bool requiresGrad(const ResultStructure& result);

}  // namespace armature
