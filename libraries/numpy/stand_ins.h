// Arrays that stand for a node's inputs in a trial run: right in type, dtype and shape, without
// data.
#pragma once

#include <llvm/ADT/DenseMap.h>

#include "core/ref.h"
#include "graph/graph.h"
#include "libraries/numpy/function_rules.h"
#include "libraries/numpy/numpy_module.h"

namespace armature {

// What else is true of them.
enum class StandInLayout : uint8_t {
  Small,  // no memory of their own; sizes above 1 are replaced by small ones, in the same order
  Sizes,  // no memory of their own; the sizes are the true ones
  True,   // sizes and strides are the true ones, which the nodes know (Node::layoutKnown)
};

class StandIns {
 public:
  StandIns(const NumPyModule& numpy, const Node& node, NumPyData data, StandInLayout layout);

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
  // Fills an array that has memory of its own.
  bool fill(const Ref<>& array, const TensorMetadata& metadata) const;
  Ref<> shape(const TensorMetadata& metadata) const;
  Ref<> identity(BorrowedRef<> shape, BorrowedRef<> dtype) const;
  Dimension smallSize(Dimension size) const;

  const NumPyModule& numpy_;
  NumPyData data_;
  StandInLayout layout_;
  Dimensions sizes_;  // those above 1, ascending; only where small
  llvm::DenseMap<Node*, Ref<>> arrays_;
};

// The scalar of that value, or an array of zeros in memory of its own, that has this metadata. Null
// with an exception set on failure.
Ref<> scalar(const NumPyModule& numpy, const TensorMetadata& metadata, int value);
Ref<> zeros(const NumPyModule& numpy, const TensorMetadata& metadata);

}  // namespace armature
