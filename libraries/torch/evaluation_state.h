// torch's state while an operation is evaluated, put back to what it was at the end.
#pragma once

#include <vector>

#include "libraries/torch/torch_module.h"

namespace armature {

class EvaluationState {
 public:
  explicit EvaluationState(const TorchModule& torch) : torch_(torch) {}
  ~EvaluationState();
  EvaluationState(const EvaluationState&) = delete;
  EvaluationState& operator=(const EvaluationState&) = delete;

  // Each returns false with a Python exception set on failure.
  bool setGradEnabled(bool enabled);
  // No function mode and no dispatch mode of the program sees what is evaluated.
  bool leaveModes(bool keepFunctionModes);
  // Enters a Python context manager.
  bool enter(Ref<> contextManager);
  // Random numbers drawn from now on are given back.
  bool keepRandomState();

 private:
  const TorchModule& torch_;
  std::vector<Ref<>> contexts_;
  int gradEnabledBefore_ = -1;
  Ref<> randomState_;
};

}  // namespace armature
