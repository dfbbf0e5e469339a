#include "variables/ends_of_objects.h"

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/DenseSet.h>
#include <llvm/ADT/STLExtras.h>

#include "core/checked.h"
#include "core/describe.h"
#include "variables/constants/sym_node_variable.h"
#include "variables/containers/dict.h"
#include "variables/containers/sequence.h"
#include "variables/lazy.h"
#include "variables/trailed.h"
#include "variables/translator.h"

namespace armature {

namespace {

// How many references the trace itself has to existing objects, and the frame, which may let go of
// them; the others are the rest of the program's.
class OwnReferences {
 public:
  explicit OwnReferences(const Translator& translator) : translator_(translator) {}

  Py_ssize_t ofOthers(PyObject* object) {
    if (counts_.empty()) count();
    return Py_REFCNT(object) - counts_.lookup(object);
  }

 private:
  void count() {
    counts_[nullptr] = 0;
    for (const VariableTracker* tracker : translator_.arena.trackers()) {
      if (tracker && tracker->existing()) ++counts_[tracker->existing()];
    }
    for (const Guard& guard : translator_.guards()) ++counts_[guard.operand.get()];
    for (PyObject* input : translator_.inputs) ++counts_[input];
  }

  const Translator& translator_;
  llvm::DenseMap<PyObject*, Py_ssize_t> counts_;
};

// Guards that it is so; false if it is not.
bool isSilent(Translator& translator, OwnReferences& own, const VariableTracker* tracker,
              LettingGo by) {
  PyObject* object = tracker->existing();
  if (!endsSilently(object, by, [&](PyObject* one) { return own.ofOthers(one); })) return false;
  translator.addGuard(tracker->source(), GuardType::ENDS_SILENTLY, nullptr,
                      static_cast<int64_t>(by));
  return true;
}

void requireSilence(Translator& translator, const VariableTracker* tracker, LettingGo by) {
  OwnReferences own(translator);
  if (isSilent(translator, own, tracker, by)) return;
  throw GraphBreak(GraphBreakKind::EndOfObject, describe(tracker->existing()));
}

// By its value, or what was found out of it.
bool isGuardedByValue(const VariableTracker* tracker) {
  auto* lazy = llvm::dyn_cast<LazyVariable>(tracker);
  return lazy && isData(lazy->realized);
}

using Objects = llvm::DenseSet<PyObject*>;

void addExisting(Objects& objects, const Value& value) {
  if (value.isTracker() && value.tracker()->existing()) objects.insert(value.tracker()->existing());
}

Objects heldBy(VariableTracker* holder) {
  Objects held;
  if (auto* dict = llvm::dyn_cast<DictVariable>(holder)) {
    const OrderedValueMap& entries = dict->entries();
    for (int32_t i = 0; i < entries.entryCount(); ++i) addExisting(held, entries[i].value);
  }
  if (auto* sequence = llvm::dyn_cast<SequenceVariable>(holder)) {
    for (const Value& item : sequence->items()) addExisting(held, item);
  }
  return held;
}

}  // namespace

void LooseValues::add(LooseValue value) {
  if (values_.insert(value)) recordUndo(trail_, [this] { values_.pop_back(); });
}

void settleEnds(Translator& translator) {
  if (translator.looseValues.all().empty()) return;
  OwnReferences own(translator);
  llvm::DenseMap<VariableTracker*, Objects> held;
  for (const auto& [holder, value] : translator.looseValues.all()) {
    auto [found, isNew] = held.try_emplace(holder);
    if (isNew) found->second = heldBy(holder);
    if (found->second.contains(value->existing()) || isGuardedByValue(value)) continue;
    if (!isSilent(translator, own, value, LettingGo::Object)) throw EndIsHeard();
  }
}

void letGo(Translator& translator, const Value& value, VariableTracker* holder) {
  if (!value.isTracker()) return;
  VariableTracker* tracker = value.tracker();
  if (!tracker->existing() || !tracker->source() || isGuardedByValue(tracker)) return;
  if (holder && !translator.looseValues.areSettledAtOnce()) {
    translator.looseValues.add({holder, tracker});
  } else {
    requireSilence(translator, tracker, LettingGo::Object);
  }
}

void letGoOfContents(Translator& translator, VariableTracker* container) {
  if (!container->existing() || !container->source()) return;
  requireSilence(translator, container, LettingGo::Content);
}

bool inputsEndSilently(Translator& translator, llvm::ArrayRef<Value> values,
                       std::vector<OwningInput>& owning, std::vector<MayEnd>* deferred) {
  OwnReferences own(translator);
  for (const Value& value : values) {
    VariableTracker* tracker = value.isTracker() ? value.tracker() : nullptr;
    if (!tracker || !tracker->existing() || !tracker->source()) continue;
    auto references = [&](PyObject* one) { return own.ofOthers(one); };
    bool silent = endsSilently(tracker->existing(), LettingGo::Input, references);
    if (!silent) {
      std::vector<PartPath> paths = ownedGenerators(tracker->existing(), references);
      if (!paths.empty()) {
        translator.addGuard(tracker->source(), GuardType::ENDS_SILENTLY,
                            checked(describePaths(paths).release()),
                            static_cast<int64_t>(LettingGo::Owned));
        owning.push_back({value, std::move(paths)});
        continue;
      }
    }
    if (deferred) {
      deferred->push_back({value, silent});
      continue;
    }
    translator.addGuard(tracker->source(), GuardType::ENDS_SILENTLY, nullptr,
                        silent ? static_cast<int64_t>(LettingGo::Input) : -1);
    if (!silent) return false;
  }
  return true;
}

}  // namespace armature
