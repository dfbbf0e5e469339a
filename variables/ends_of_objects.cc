#include "variables/ends_of_objects.h"

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/STLExtras.h>

#include "core/checked.h"
#include "core/describe.h"
#include "variables/constants/sym_node_variable.h"
#include "variables/lazy.h"
#include "variables/translator.h"

namespace armature {

namespace {

// How many references the trace itself has to existing objects, which are the program's otherwise.
class OwnReferences {
 public:
  explicit OwnReferences(const Translator& translator) : translator_(translator) {}

  Py_ssize_t ofProgram(PyObject* object) {
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
  }

  const Translator& translator_;
  llvm::DenseMap<PyObject*, Py_ssize_t> counts_;
};

void requireSilence(Translator& translator, const VariableTracker* tracker, LettingGo by) {
  OwnReferences own(translator);
  PyObject* object = tracker->existing();
  bool silent = endsSilently(object, by, [&](PyObject* one) { return own.ofProgram(one); });
  if (!silent) throw GraphBreak(GraphBreakKind::EndOfObject, describe(object));
  translator.addGuard(tracker->source(), GuardType::ENDS_SILENTLY, nullptr,
                      static_cast<int64_t>(by));
}

}  // namespace

void letGo(Translator& translator, const Value& value) {
  if (!value.isTracker()) return;
  VariableTracker* tracker = value.tracker();
  if (!tracker->existing() || !tracker->source()) return;
  // Guarded by its value, or what was found out of it.
  if (auto* lazy = llvm::dyn_cast<LazyVariable>(tracker); lazy && isData(lazy->realized)) return;
  requireSilence(translator, tracker, LettingGo::Object);
}

void letGoOfContents(Translator& translator, VariableTracker* container) {
  if (!container->existing() || !container->source()) return;
  requireSilence(translator, container, LettingGo::Content);
}

bool inputsEndSilently(Translator& translator, llvm::ArrayRef<Value> values,
                       llvm::ArrayRef<Value> inputs, std::vector<OwningInput>& owning) {
  OwnReferences own(translator);
  for (const Value& value : values) {
    VariableTracker* tracker = value.isTracker() ? value.tracker() : nullptr;
    if (!tracker || !tracker->existing() || !tracker->source()) continue;
    auto references = [&](PyObject* one) {
      return own.ofProgram(one) - llvm::count_if(inputs, [&](const Value& input) {
               return input.isTracker() && input.tracker()->existing() == one;
             });
    };
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
    translator.addGuard(tracker->source(), GuardType::ENDS_SILENTLY, nullptr,
                        silent ? static_cast<int64_t>(LettingGo::Input) : -1);
    if (!silent) return false;
  }
  return true;
}

}  // namespace armature
