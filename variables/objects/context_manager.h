// Context managers whose effect on the library's global state the trace models.
#pragma once

#include "variables/variable_tracker.h"

namespace armature {

class Translator;

// torch.no_grad(), torch.enable_grad(), torch.set_grad_enabled(flag).
class ContextManagerVariable : public VariableTracker {
 public:
  ARMATURE_KIND(ContextManager)
  ContextManagerVariable(PyTypeObject* type, Value classValue, bool target, bool takesMode)
      : VariableTracker(VariableKind::ContextManager, type),
        classValue(std::move(classValue)),
        target(target),
        takesMode(takesMode) {}

  void enter(Translator& translator);
  void exit(Translator& translator);

  const Value classValue;  // for building it again
  const bool target;       // the grad mode inside
  const bool takesMode;    // its constructor takes the mode (set_grad_enabled)
  bool previous = false;   // the grad mode before enter(). Trailed.
};

// The manager's bound __exit__, which a with statement keeps on the stack.
class ContextExitVariable : public VariableTracker {
 public:
  ARMATURE_KIND(ContextExit)
  explicit ContextExitVariable(ContextManagerVariable* manager)
      : VariableTracker(VariableKind::ContextExit, &PyMethod_Type), manager(manager) {}

  ContextManagerVariable* const manager;
};

}  // namespace armature
