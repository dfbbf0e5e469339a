#include "runtime/input_guards.h"

#include <llvm/ADT/DenseSet.h>
#include <llvm/ADT/MapVector.h>

#include "guards/check_function_manager.h"
#include "runtime/error_on_graph_break.h"
#include "runtime/thread_state.h"
#include "variables/library.h"
#include "variables/operation_modes.h"
#include "variables/tensors/tensor.h"

namespace armature {

void startGlobalState(InstructionTranslator& translator) {
  for (const Library* library : registeredLibraries()) {
    translator.startInMode(*library, library->currentMode());
  }
  startOperationModes(translator);
  translator.startErrorOnGraphBreak(isErrorOnGraphBreak(), errorOnGraphBreakSetter());
}

void observeEverything(InstructionTranslator& translator) {
  for (Node* input : translator.graph->placeholders()) {
    translator.observe(input, ObservedEverything);
  }
}

namespace {

// Objects of one family may be one object in another call, objects of two may not: types are
// guarded. Any dict may be another object's __dict__.
PyTypeObject* familyOf(PyObject* object) {
  return PyDict_Check(object) ? &PyDict_Type : Py_TYPE(object);
}

// What the trace knows of another array, it may not know of this one any more.
bool changesLayouts(const Graph& graph) {
  return llvm::any_of(graph.nodes(), [](const auto& node) {
    const Library* library = node->isCall() ? findLibrary(node->library) : nullptr;
    return library && library->changesLayout(*node);
  });
}

// The dicts of hooks that the trace took for empty, which are OrderedDicts, where it has written
// to an OrderedDict by another path.
std::vector<const Source*> hooksBesideWritten(InstructionTranslator& translator) {
  std::vector<const Source*> hooks;
  bool isAnyWritten = llvm::any_of(translator.effects.written(), [](VariableTracker* changed) {
    return changed->source() && changed->existing() && PyODict_Check(changed->existing());
  });
  if (!isAnyWritten) return hooks;
  for (const Guard& guard : translator.guards()) {
    if (guard.type == GuardType::EMPTY_NN_MODULE_HOOKS_DICT) hooks.push_back(guard.source);
  }
  return hooks;
}

// A trace that changed an object took it for another one than all that it looked at besides.
void guardDistinctObjects(InstructionTranslator& translator) {
  struct Family {
    llvm::MapVector<PyObject*, const Source*> written, read;
  };
  llvm::MapVector<PyTypeObject*, Family> families;
  const SideEffects& effects = translator.effects;
  llvm::DenseSet<const VariableTracker*> changedBehindGraph;
  for (int32_t i = 0; i < effects.size(); ++i) {
    if (effects[i].kind != EffectKind::TensorMutation) changedBehindGraph.insert(effects[i].target);
  }
  bool layoutsStay = !changesLayouts(*translator.graph);
  for (VariableTracker* changed : effects.written()) {
    // The data that the graph changes, it changes in the arrays themselves.
    bool isGraphs =
        llvm::isa<TensorVariable>(changed) && layoutsStay && !changedBehindGraph.contains(changed);
    if (!changed->source() || !changed->existing() || isGraphs) continue;
    PyObject* object = changed->existing();
    families[familyOf(object)].written.insert({object, changed->source()});
  }
  if (families.empty()) return;
  for (const Value& value : translator.knownInputs()) {
    VariableTracker* tracker = value.tracker();
    if (!tracker->source() || !tracker->existing()) continue;
    PyObject* object = tracker->existing();
    auto family = families.find(familyOf(object));
    if (family == families.end() || family->second.written.count(object)) continue;
    family->second.read.insert({object, tracker->source()});
  }
  for (const auto& [object, source] : translator.walkedContainers()) {
    auto family = families.find(familyOf(object));
    if (family == families.end() || family->second.written.count(object)) continue;
    family->second.read.insert({object, source});
  }
  // A dict that was written may be the one that an array had nothing in.
  if (auto dicts = families.find(&PyDict_Type); dicts != families.end()) {
    for (const Value& value : translator.knownInputs()) {
      auto* array = trackerOf<TensorVariable>(value);
      if (!array || !array->attributesObserved || !array->source()) continue;
      dicts->second.read.insert(
          {array->existing(), translator.sources->path(SourceKind::InstanceDict, array->source())});
    }
  }
  std::vector<const Source*> hooks = hooksBesideWritten(translator);
  for (const auto& [type, family] : families) {
    bool mayBeHooks = type == &PyDict_Type && !hooks.empty();
    if (family.written.size() + family.read.size() < 2 && !mayBeHooks) continue;
    auto distinct = std::make_shared<DistinctObjects>();
    for (const auto& [object, source] : family.written) distinct->written.push_back(source);
    for (const auto& [object, source] : family.read) distinct->read.push_back(source);
    if (mayBeHooks) llvm::append_range(distinct->read, hooks);
    Guard guard;
    guard.type = GuardType::DUPLICATE_INPUT;
    guard.detail = std::shared_ptr<const DistinctObjects>(std::move(distinct));
    translator.addGuard(std::move(guard));
  }
}

// What was not found among the keys of a dict or set is none of them.
void guardDistinctKeys(InstructionTranslator& translator) {
  llvm::MapVector<PyTypeObject*, std::vector<const Source*>> families;
  for (const auto& [object, source] : translator.keysByIdentity()) {
    families[Py_TYPE(object)].push_back(source);
  }
  for (auto& [type, keys] : families) {
    if (keys.size() < 2) continue;
    auto distinct = std::make_shared<DistinctObjects>();
    distinct->written = std::move(keys);
    Guard guard;
    guard.type = GuardType::DUPLICATE_INPUT;
    guard.detail = std::shared_ptr<const DistinctObjects>(std::move(distinct));
    translator.addGuard(std::move(guard));
  }
}

void guardMemory(InstructionTranslator& translator) {
  if (translator.apart().size() < 2) return;
  auto apart = std::make_shared<DistinctObjects>();
  apart->written = translator.apart();
  apart->inMemory = true;
  Guard guard;
  guard.type = GuardType::DUPLICATE_INPUT;
  guard.detail = std::shared_ptr<const DistinctObjects>(std::move(apart));
  translator.addGuard(std::move(guard));
}

}  // namespace

SeenState::SeenState(const InstructionTranslator& translator) {
  if (!translator.usedLibraries()) return;
  for (const Library* each : registeredLibraries()) {
    const ArrayLibrary* library = arrayLibrary(each->kind());
    states_.emplace_back(library, library->captureGlobalState(translator.observedStates()));
  }
}

void SeenState::requireSame() const {
  for (const auto& [library, state] : states_) {
    if (library->globalStateMatches(state)) continue;
    throw FalseGuard("the backend has changed the state of a library while it compiled: " +
                     library->explainGlobalState(state));
  }
}

void addFinalGuards(InstructionTranslator& translator) {
  if (translator.usedLibraries()) {
    Guard state;
    state.type = GuardType::GLOBAL_STATE;
    state.number = static_cast<int64_t>(translator.observedStates());
    translator.addGuard(std::move(state));
  }
  guardDistinctObjects(translator);
  guardDistinctKeys(translator);
  guardMemory(translator);
}

}  // namespace armature
