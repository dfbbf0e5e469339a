// What the forward() of a torch.autograd.Function has returned to a call that gradients go through.
#pragma once

#include <llvm/ADT/SmallVector.h>

#include <memory>

#include "variables/containers/sequence.h"
#include "variables/translator.h"

namespace armature {

// Breaks: apply() with this function cannot be in a graph.
[[noreturn]] void refuseAutogradFunction(const char* reason);

class AutogradResults {
 public:
  // `firstNode`: where forward() began. `arguments`: of the call; null where it is no tensor.
  AutogradResults(Translator& translator, size_t firstNode, llvm::ArrayRef<Node*> arguments)
      : translator_(translator),
        firstNode_(firstNode),
        arguments_(arguments.begin(), arguments.end()) {}

  // Nodes of the tensors among the call's arguments; null for the others.
  static llvm::SmallVector<Node*, 4> nodesOf(Translator& translator, llvm::ArrayRef<Value> values);

  // Is it what forward() has computed?
  bool isComputed(const Node* node) const {
    return node->operation != NodeOperation::Placeholder &&
           static_cast<size_t>(node->index) >= firstNode_;
  }
  // Takes in what forward() returned and what its context marks as not differentiable, which may be
  // nothing. False with an exception pending.
  bool collect(const Value& result, const Value& marked);

  llvm::ArrayRef<Node*> arguments() const { return arguments_; }
  // In the program's order.
  llvm::ArrayRef<Value> values() const { return values_; }
  // The tensors among them.
  llvm::ArrayRef<Node*> tensors() const { return tensors_; }
  bool isMarked(const Node* node) const { return llvm::is_contained(marked_, node); }

  // Gives the metadata that the tensors have outside, to be asked before the nodes are moved.
  llvm::SmallVector<std::shared_ptr<const TensorMetadata>, 2> metadata();
  // The result of the call, of which `items` are the tensors.
  Value build(llvm::ArrayRef<Node*> items);

 private:
  std::shared_ptr<const TensorMetadata> metadataOf(Node* node);

  Translator& translator_;
  size_t firstNode_;
  llvm::SmallVector<Node*, 4> arguments_;
  llvm::SmallVector<Node*, 2> tensors_, marked_;
  ValueVector values_;
  bool isTuple_ = false;
};

}  // namespace armature
