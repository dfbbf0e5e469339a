#include "libraries/torch/shared_inputs.h"

#include <llvm/ADT/STLExtras.h>

namespace armature {

void shareInputs(Graph::Subgraph& one, const char* suffix, Graph::Subgraph& other,
                 const char* otherSuffix) {
  std::vector<Graph::Subgraph::Input> shared, inputs;
  auto addUnique = [&](const Graph::Subgraph& of, const Graph::Subgraph& second,
                       const char* suffixOf) {
    std::vector<Graph::Subgraph::Input> unique;
    for (Node* node : of.inputs) {
      bool isShared = llvm::is_contained(second.inputs, node);
      if (!isShared) unique.push_back({node, suffixOf});
      if (isShared && &of == &one) shared.push_back({node, ""});
    }
    Graph::Subgraph::sortByName(unique);
    inputs.insert(inputs.end(), unique.begin(), unique.end());
  };
  addUnique(one, other, suffix);
  addUnique(other, one, otherSuffix);
  Graph::Subgraph::sortByName(shared);
  inputs.insert(inputs.begin(), shared.begin(), shared.end());
  one.arrange(inputs);
  other.arrange(inputs);
}

}  // namespace armature
