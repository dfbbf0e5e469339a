#include "libraries/torch/float32_precision.h"

#include <algorithm>
#include <cstddef>

#include "libraries/torch/process_memory.h"

namespace armature {
namespace {

constexpr uint32_t backends = 3, operations = 4, precisions = 5;  // ATen/Context.h
// GENERIC has one operation; CUDA and MKLDNN have all.
constexpr size_t fewestNodes = 8;
constexpr size_t searchedWords = 512;

}  // namespace

// The nodes of a list (libstdc++'s unordered_map is one) that begins at `first`, if they are such
// pairs, each at most once; else nothing.
std::vector<const Float32Precision::Node*> Float32Precision::nodesFrom(const Node* first) {
  std::vector<const Node*> found(backends * operations);
  size_t count = 0;
  Node node;
  for (const Node* at = first; at; at = node.next) {
    if (reinterpret_cast<uintptr_t>(at) % alignof(Node) || !readMemory(at, &node, sizeof node) ||
        node.backend >= backends || node.operation >= operations || node.precision >= precisions)
      return {};
    const Node*& place = found[node.backend * operations + node.operation];
    if (place || ++count > found.size()) return {};
    place = at;
  }
  found.erase(std::remove(found.begin(), found.end(), nullptr), found.end());
  return found;
}

void Float32Precision::find(const void* context) {
  std::vector<const Node*> words(searchedWords);
  if (!readMemory(context, words.data(), searchedWords * sizeof(Node*))) return;
  for (const Node* first : words) {
    std::vector<const Node*> nodes = nodesFrom(first);
    if (nodes.size() >= fewestNodes && nodes.size() > nodes_.size()) nodes_ = std::move(nodes);
  }
}

}  // namespace armature
