#include "runtime/input_guards.h"

#include "guards/array_library.h"

namespace armature {

void startGlobalState(InstructionTranslator& translator) {
  if (!arrayLibrary(ArrayLibraryKind::Torch)) return;
  PyObject* torch = PyDict_GetItemString(PyImport_GetModuleDict(), "torch");
  if (!torch) return;
  Ref<> enabled = Ref<>::steal(PyObject_CallMethod(torch, "is_grad_enabled", nullptr));
  if (!enabled) {
    PyErr_Clear();
    return;
  }
  translator.startWithGradEnabled(enabled.get() == Py_True);
}

void observeEverything(InstructionTranslator& translator) {
  for (Node* input : translator.graph->placeholders()) {
    translator.observe(input, ObservedEverything);
  }
}

void addFinalGuards(InstructionTranslator& translator) {
  if (translator.usedLibraries()) {
    Guard state;
    state.type = GuardType::GLOBAL_STATE;
    translator.addGuard(std::move(state));
  }
  for (VariableTracker* changed : translator.sideEffects().mutated()) {
    const Source* source = changed->source();
    if (!source || !changed->existing()) continue;
    for (const Value& other : translator.knownInputs()) {
      VariableTracker* tracker = other.tracker();
      // (The items of a dict subclass's instance are a variable of their own, of the same object.)
      bool mayAlias = tracker->source() && tracker->existing() &&
                      tracker->existing() != changed->existing() &&
                      tracker->type() == changed->type() && !source->isGlobal();
      if (!mayAlias) continue;
      Guard guard;
      guard.source = source;
      guard.other = tracker->source();
      guard.type = GuardType::DUPLICATE_INPUT;
      guard.number = 0;
      translator.addGuard(std::move(guard));
    }
  }
}

}  // namespace armature
