// Tensors that say what is known of a node: node.meta["example_value"], as backends of TorchDynamo
// find it.
#pragma once

#include "core/ref.h"
#include "shapes/tensor_metadata.h"

namespace armature {

// A FakeTensor; `mode` is the FakeTensorMode of all of a graph, made if it is null. Null without an
// exception set for a tensor that has none (a sparse one), with one on failure.
Ref<> fakeTensor(const TensorMetadata& metadata, Ref<>& mode);

}  // namespace armature
