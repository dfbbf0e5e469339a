#include "libraries/torch/gradients_of_views.h"

#include <llvm/ADT/DenseSet.h>
#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/SmallVector.h>

#include "core/graph_break.h"
#include "core/pending_python_exception.h"
#include "libraries/torch/changed_arguments.h"
#include "libraries/torch/memory_relations.h"
#include "libraries/torch/operation_nodes.h"

namespace armature {

namespace {

bool saysGradients(const Node& node) {
  if (!node.isCall()) return false;
  std::string_view name = nameOf(node);
  return name == "requires_grad_" || name == "detach_";
}

bool isView(const Node& node) {
  const TensorMetadata* metadata = node.metadata.get();
  if (metadata && (metadata->isParameter || !metadata->mayBeView)) return false;
  if (node.operation != NodeOperation::Placeholder || !node.example) return true;
  Ref<> isView = Ref<>::steal(PyObject_CallMethod(node.example.get(), "_is_view", nullptr));
  clearUnlessInterrupted();
  return !isView || isView.get() != Py_False;
}

bool shareMemory(Node* a, Node* b) {
  auto roots = memoryRoots(a);
  return llvm::any_of(memoryRoots(b), [&](Node* root) { return roots.contains(root); });
}

// Where two inputs have their memory, the graph does not say.
bool mayBeViewOf(Node* view, Node* base) {
  if (!isView(*view)) return false;
  auto isInput = [](Node* root) { return root->operation == NodeOperation::Placeholder; };
  return shareMemory(view, base) ||
         (llvm::any_of(memoryRoots(view), isInput) && llvm::any_of(memoryRoots(base), isInput));
}

// What was computed before the call has heard nothing of it, unless it is a view itself.
bool dependsOnViewOf(Node* node, Node* base, const Node& call) {
  llvm::SmallVector<Node*, 8> pending = {node};
  llvm::DenseSet<Node*> seen;
  while (!pending.empty()) {
    Node* each = pending.pop_back_val();
    if (each == base || each == &call || !seen.insert(each).second) continue;
    bool wasThere = each->index < call.index || each->operation == NodeOperation::Placeholder;
    if (wasThere) {
      if (mayBeViewOf(each, base)) return true;
      continue;
    }
    forEachInput(*each, [&](Node* input) { pending.push_back(input); });
  }
  return false;
}

}  // namespace

bool mayFollowBase(const Node& node, const Graph& graph) {
  return llvm::any_of(graph.from(Graph::Question::SaysGradients, saysGradients), [&](auto& call) {
    Node* base = saysGradients(*call) ? inputAt(*call, 0) : nullptr;
    return base && dependsOnViewOf(const_cast<Node*>(&node), base, *call);
  });
}

void requireNoBase(const Node& call, InputStructures inputs) {
  if (nameOf(call) != "requires_grad_") return;
  const Node* array = inputAt(call, 0);
  const TensorMetadata* metadata = array ? inputs(*array).metadata.get() : nullptr;
  bool mayHaveBase = metadata && metadata->requiresGrad && metadata->isLeaf &&
                     !metadata->isParameter && metadata->mayBeView && isView(*array);
  if (mayHaveBase) {
    throw GraphBreak(GraphBreakKind::ChangedThroughMemory, targetName(call.target));
  }
}

}  // namespace armature
