#include "variables/ends_of_objects.h"

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/DenseSet.h>
#include <llvm/ADT/STLExtras.h>

#include <utility>

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

// `ends` is changed only if it is so.
bool isSilent(Translator& translator, Ends& ends, PyObject* object, LettingGo by) {
  OwnReferences& own = translator.ownReferences;
  Ends after = ends;
  Py_ssize_t times = by == LettingGo::Input ? own.ofInputs(object) : 1;
  auto references = [&](PyObject* one) { return own.ofProgram(one); };
  if (!after.letGo(object, by, references, times)) return false;
  ends = after;
  return true;
}

void guardEnd(Translator& translator, const VariableTracker* tracker, int64_t number,
              Ref<> operand = nullptr) {
  translator.addGuard(tracker->source(), GuardType::ENDS_SILENTLY, std::move(operand), number);
}

// Guards that it is so; false if it is not.
bool isSilent(Translator& translator, const VariableTracker* tracker, LettingGo by) {
  if (!isSilent(translator, translator.ends, tracker->existing(), by)) return false;
  int64_t times = translator.looseValues.timesLetGo(tracker);
  guardEnd(translator, tracker, static_cast<int64_t>(by) + kTimesLetGo * times);
  return true;
}

void requireSilence(Translator& translator, const VariableTracker* tracker, LettingGo by) {
  if (isSilent(translator, tracker, by)) return;
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
  llvm::DenseMap<VariableTracker*, Objects> held;
  for (const auto& [holder, value] : translator.looseValues.all()) {
    auto [found, isNew] = held.try_emplace(holder);
    if (isNew) found->second = heldBy(holder);
    if (found->second.contains(value->existing()) || isGuardedByValue(value)) continue;
    if (!isSilent(translator, value, LettingGo::Object)) throw EndIsHeard();
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

namespace {

// The operand for kEndsAreHeard.
Ref<> numbersOf(llvm::ArrayRef<PyObject*> inputs, llvm::ArrayRef<MayEnd> ending) {
  Ref<> numbers = checked(PyTuple_New(static_cast<Py_ssize_t>(ending.size())));
  for (size_t i = 0; i < ending.size(); ++i) {
    PyObject* object = ending[i].input.tracker()->existing();
    auto number = static_cast<size_t>(llvm::find(inputs, object) - inputs.begin());
    PyTuple_SET_ITEM(numbers.get(), static_cast<Py_ssize_t>(i),
                     checked(PyLong_FromSize_t(number)).release());
  }
  return numbers;
}

}  // namespace

bool endsSilently(Translator& translator, const MayEnd& one) {
  VariableTracker* tracker = one.input.tracker();
  bool isSilentNow = one.silent && (one.counted || isSilent(translator, translator.ends,
                                                            tracker->existing(), LettingGo::Input));
  if (isSilentNow) guardEnd(translator, tracker, static_cast<int64_t>(LettingGo::Input));
  return isSilentNow;
}

bool inputsEndSilently(Translator& translator, llvm::ArrayRef<Value> values,
                       std::vector<OwningInput>& owning, std::vector<MayEnd>* deferred) {
  OwnReferences& own = translator.ownReferences;
  std::vector<MayEnd> ending;
  Ends together = translator.ends;
  bool areSilent = true;
  for (const Value& value : values) {
    VariableTracker* tracker = value.isTracker() ? value.tracker() : nullptr;
    if (!tracker || !tracker->existing() || !tracker->source()) continue;
    PyObject* object = tracker->existing();
    Ends alone;
    bool isNow = isSilent(translator, together, object, LettingGo::Input);
    bool silent = isNow || isSilent(translator, alone, object, LettingGo::Input);
    if (!silent) {
      std::vector<PartPath> paths = ownedGenerators(
          object, [&](PyObject* one) { return own.ofProgram(one) - own.ofInputs(one); });
      if (!paths.empty()) {
        guardEnd(translator, tracker, static_cast<int64_t>(LettingGo::Owned),
                 checked(describePaths(paths).release()));
        owning.push_back({value, std::move(paths)});
        continue;
      }
      if (!deferred) {
        guardEnd(translator, tracker, kEndIsHeard);
        return false;
      }
    }
    areSilent = areSilent && isNow;
    ending.push_back({value, silent, false});
  }
  if (areSilent) {
    translator.ends = together;
    for (MayEnd& one : ending) one.counted = true;
  }
  if (deferred) {
    llvm::append_range(*deferred, ending);
    return true;
  }
  if (areSilent) {
    for (const MayEnd& one : ending) endsSilently(translator, one);
  } else {
    guardEnd(translator, ending.front().input.tracker(), kEndsAreHeard,
             numbersOf(translator.inputs, ending));
  }
  return areSilent;
}

}  // namespace armature
