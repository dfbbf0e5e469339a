// The levels of torch.func's transforms (functorch's dynamic layers), entered while we try what is
// done inside of them.
#pragma once

#include <llvm/ADT/ArrayRef.h>

#include "libraries/torch/regions.h"

namespace armature {

// Leaves at its end what it has entered; keeps a Python exception that is set. Entering sets the
// gradient mode, which a ModeScope around it puts back.
class TransformLevels {
 public:
  TransformLevels() = default;
  ~TransformLevels();
  TransformLevels(const TransformLevels&) = delete;
  TransformLevels& operator=(const TransformLevels&) = delete;

  // Enters and leaves levels until they are those of the mode. False with an exception set.
  bool set(uint32_t mode);
  // What the function returned that entered the innermost one: its number.
  BorrowedRef<> number() const { return number_; }

 private:
  bool enter(uint32_t region);
  bool leaveInnermost();

  std::vector<uint32_t> entered_;
  Ref<> number_;
};

// torch._C._exit_dual_level(level=0); null with an exception set on failure.
Ref<> leaveDualLevel();
// torch._C._functorch.NAME(arguments…); null with an exception set on failure.
Ref<> callFunctorch(const char* name, llvm::ArrayRef<PyObject*> arguments = {});

}  // namespace armature
