// What stands for the arrays of the program where an operation is tried out: tensors of the same
// layout that have no data, or only zeros.
#pragma once

#include <llvm/ADT/DenseMap.h>

#include "libraries/torch/meta_evaluation.h"

namespace armature {

enum class Stand : uint8_t {
  Meta,  // meta tensors: shapes only, quick; for operations on the CPU
  Fake,  // fake tensors: shapes and devices, slow
  Real,  // zeros on the CPU, to hear the very exception that the program would see
};

// Of real stand-ins together; an operation on more is not tried.
constexpr int64_t kMostRealElements = 1 << 20;

class StandIns {
 public:
  struct StandIn {
    Ref<> object;
    // It is not what an operation has given that was tried out before.
    bool isInput = true;
  };

  StandIns(const TorchModule& torch, InputStructures inputs) : torch_(torch), inputs_(inputs) {}

  // To be set while there are none.
  Stand kind = Stand::Meta;
  // They are smaller than what they stand for.
  bool isSmall = false;
  // What stands for parameters is of their type, which errors name.
  bool namesParameters = false;

  void clear() { objects_.clear(); }
  // What stands for what the node gives, made on demand; null with the exception set. To be asked
  // in grad mode.
  Ref<> of(const Node& node);
  // Null where there is none.
  BorrowedRef<> find(const Node& node) const;
  // The node was tried out, and this is what it gave.
  void set(const Node& node, Ref<> result);
  const llvm::DenseMap<const Node*, StandIn>& all() const { return objects_; }

 private:
  Ref<> structureObject(const ResultStructure& input);
  // Whether a tensor is one of inference mode depends on where it was made.
  Ref<> tensor(const TensorMetadata& metadata);
  bool isInferenceMode() const;
  Ref<> tensorInMode(const TensorMetadata& metadata);
  // Lets the tensor begin where the metadata say in its memory, without making it a view.
  Ref<> shifted(const Ref<>& tensor, const TensorMetadata& metadata) const;
  // Makes the tensor the result of an operation of autograd, and no view: views of leaves refuse
  // operations in place that others allow. False with an exception set if torch cannot do so.
  bool giveHistory(const Ref<>& tensor, const Ref<>& dtype, const Ref<>& device) const;

  const TorchModule& torch_;
  InputStructures inputs_;
  llvm::DenseMap<const Node*, StandIn> objects_;
};

}  // namespace armature
