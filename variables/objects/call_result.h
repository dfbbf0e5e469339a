// What a call gives that is made after the graph, an effect on an existing object; or that the
// graph makes, if it is no array.
#pragma once

#include "variables/containers/sequence.h"
#include "variables/translator.h"
#include "variables/variable_tracker.h"

namespace armature {

class Node;

// A new object of a Python class, all of which is in its __dict__. It exists before the effects are
// replayed, so that what they store can hold it; EffectKind::Call gives it what the real call
// returned. What the graph makes is complete.
class CallResultVariable : public VariableTracker {
 public:
  ARMATURE_KIND(CallResult)
  CallResultVariable(PyTypeObject* type, ValueVector arguments, Node* node = nullptr)
      : VariableTracker(VariableKind::CallResult, type),
        arguments(std::move(arguments)),
        node(node) {}
  const ValueVector arguments;  // of the call, its target excepted
  Node* const node;             // of the graph that makes it, or null
};

// The node of the graph that gives the object; null if none does.
Node* nodeThatGives(const VariableTracker* tracker);

// Calls `function`, a real one that takes `target` and the arguments and returns an instance of
// `type`, when the effects are replayed. Throws a GraphBreak if `target` has no path there.
Value callAfterGraph(Translator& translator, VariableTracker* target, BorrowedRef<> function,
                     PyTypeObject* type, ValueVector arguments);

}  // namespace armature
