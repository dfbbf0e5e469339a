#include "codegen/ending_inputs.h"

#include <llvm/ADT/STLExtras.h>

#include <algorithm>

#include "codegen/reconstruct/reconstructor.h"
#include "variables/containers/sequence.h"
#include "variables/functions/functions.h"
#include "variables/lazy.h"
#include "variables/objects/address.h"
#include "variables/objects/call_result.h"
#include "variables/objects/weak_reference.h"

namespace armature {

namespace {

// What somebody has looked at is two values.
VariableTracker* lookedAt(const Value& value) {
  VariableTracker* tracker = value.isTracker() ? value.tracker() : nullptr;
  auto* lazy = llvm::dyn_cast_or_null<LazyVariable>(tracker);
  return lazy && lazy->realized.isTracker() ? lazy->realized.tracker() : tracker;
}

}  // namespace

EndingInputs::EndingInputs(InstructionTranslator& translator, llvm::ArrayRef<Value> locals)
    : translator_(translator) {
  for (const Value& local : locals) count(local);
  for (const Value& local : locals) release(local);
}

// Of an object that the trace has made, in the order in which it lets go of them.
llvm::SmallVector<VariableTracker*, 8> EndingInputs::parts(VariableTracker* made) {
  llvm::SmallVector<VariableTracker*, 8> parts;
  bool isInput = made->source() || made->existing() || nodeThatGives(made);
  bool holdsNothing = llvm::isa<NewWeakReferenceVariable, AddressVariable, GeneratorVariable>(made);
  if (isInput || holdsNothing || translator_.owns(made)) return parts;
  reconstructedParts().ofObject(translator_, made, [&](const Value& part) {
    if (VariableTracker* tracker = lookedAt(part)) parts.push_back(tracker);
  });
  if (llvm::isa<ListVariable, TupleVariable>(made)) std::ranges::reverse(parts);
  return parts;
}

void EndingInputs::count(const Value& local) {
  llvm::SmallVector<VariableTracker*, 8> pending;
  if (VariableTracker* tracker = lookedAt(local)) pending.push_back(tracker);
  while (!pending.empty()) {
    VariableTracker* tracker = pending.pop_back_val();
    if (++references_[tracker] == 1) llvm::append_range(pending, parts(tracker));
  }
}

void EndingInputs::release(const Value& local) {
  llvm::SmallVector<VariableTracker*, 8> pending;
  if (VariableTracker* tracker = lookedAt(local)) pending.push_back(tracker);
  while (!pending.empty()) {
    VariableTracker* tracker = pending.pop_back_val();
    if (--references_[tracker] > 0) continue;
    const Source* source = tracker->source();
    bool isInput =
        source && (source->kind() == SourceKind::Local || source->kind() == SourceKind::LocalCell);
    if (isInput) {
      order_.remove(source->index());  // a cell and what is in it are one input
      order_.insert(source->index());
    }
    llvm::append_range(pending, llvm::reverse(parts(tracker)));
  }
}

}  // namespace armature
