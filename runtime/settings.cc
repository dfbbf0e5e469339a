#include "runtime/settings.h"

namespace armature {

const std::shared_ptr<EngineState>& packageEngine() {
  // Never destroyed: Python may be gone first.
  static const auto* const engine = new std::shared_ptr<EngineState>(new EngineState);
  return *engine;
}

}  // namespace armature
