// What an operation has returned that was tried out on stand-ins: its structure, and of each array
// what is true of the one that the real operation gives.
#pragma once

#include <memory>

#include "libraries/torch/stand_ins.h"

namespace armature {

class ResultReader {
 public:
  // `isMixture`: arrays of other libraries are among them.
  ResultReader(const TorchModule& torch, const Node& node, InputStructures inputs,
               const StandIns& standIns, bool isMixture)
      : torch_(torch), node_(node), inputs_(inputs), standIns_(standIns), isMixture_(isMixture) {}

  // Throws GraphBreak for what a graph cannot describe.
  ResultStructure read(BorrowedRef<> object) const;
  // Of a tensor; throws as read() does.
  std::shared_ptr<const TensorMetadata> metadata(BorrowedRef<> tensor) const;

 private:
  bool isParameter(BorrowedRef<> tensor) const;
  // Autograd does not know all views: those of inference mode, of unsafe_chunk.
  bool sharesMemory(BorrowedRef<> tensor) const;
  bool sharesMemory(BorrowedRef<> tensor, BorrowedRef<> other) const;

  const TorchModule& torch_;
  const Node& node_;
  InputStructures inputs_;
  const StandIns& standIns_;
  bool isMixture_;
};

}  // namespace armature
