// Arrays that stand for a node's inputs in a trial run: right in type, dtype and shape, without
// data, and without memory of their own.
#pragma once

#include <llvm/ADT/DenseMap.h>

#include "core/ref.h"
#include "graph/graph.h"
#include "libraries/numpy/function_rules.h"
#include "libraries/numpy/numpy_module.h"

namespace armature {

class StandIns {
 public:
  // Small: every size is replaced by a small one, in the same order; 0 and 1 stay.
  StandIns(const NumPyModule& numpy, const Node& node, NumPyData data, bool small);

  // The value of an argument. Null with an exception set on failure.
  Ref<> argument(const Argument& argument);
  // The node whose stand-in this very array is; null if it is none.
  Node* nodeOf(BorrowedRef<> array) const;
  // Turns sizes of a result into those that the real inputs would give; false if they cannot be
  // told.
  bool restore(Dimensions& sizes) const;

 private:
  Ref<> standIn(Node& node);
  Ref<> array(const TensorMetadata& metadata);
  Ref<> shape(const TensorMetadata& metadata) const;
  Ref<> identity(BorrowedRef<> shape, BorrowedRef<> dtype) const;
  Dimension smallSize(Dimension size) const;

  const NumPyModule& numpy_;
  NumPyData data_;
  bool small_;
  Dimensions sizes_;  // those above 1, ascending; only where small
  llvm::DenseMap<Node*, Ref<>> arrays_;
};

// True if a node is among the argument's parts.
bool mentionsNode(const Argument& argument);

}  // namespace armature
