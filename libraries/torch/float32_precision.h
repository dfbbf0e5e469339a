// torch's float32 precisions (highest, tf32, bf16, …) by backend and operation, read where they
// lie.
#pragma once

#include <cstdint>
#include <vector>

namespace armature {

// They are in an unordered_map of at::Context from (backend, operation) to precision, which torch's
// own accessor takes 13 to 40 ns to ask, for one of them. The map's nodes never move.
class Float32Precision {
 public:
  // Finds the map in the context.
  void find(const void* context);
  bool found() const { return !nodes_.empty(); }

  // All of them, four bits each.
  uint64_t packed() const {
    uint64_t packed = 0;
    for (const Node* node : nodes_) packed = packed << 4 | node->precision;
    return packed;
  }

 private:
  struct Node {
    Node* next;
    uint32_t backend;
    uint32_t operation;
    uint32_t precision;
  };
  static std::vector<const Node*> nodesFrom(const Node* first);

  std::vector<const Node*> nodes_;  // by backend and operation
};

}  // namespace armature
