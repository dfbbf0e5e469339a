// The operations that a translation captured.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "armature/object.h"

namespace armature {
class Graph;
}

namespace armature::api {

// A value that never changes; copies share what they hold. May be empty: a function need not
// compute anything with arrays.
class Graph {
 public:
  Graph() = default;
  explicit Graph(std::shared_ptr<const armature::Graph> graph) : graph_(std::move(graph)) {}

  bool empty() const { return operationCount() == 0; }
  size_t operationCount() const;
  size_t inputCount() const;
  // As torch.fx prints a graph module's code; "" if it is empty.
  std::string text() const;
  // One line, {"nodes": […]}; "" if there is none.
  std::string json() const;
  // A Python function of the inputs that runs the operations and returns a tuple of the outputs.
  Result<Object> toFunction() const;
  // A torch.fx.GraphModule. Imports torch.
  Result<Object> toTorch() const;

 private:
  std::shared_ptr<const armature::Graph> graph_;
};

}  // namespace armature::api
