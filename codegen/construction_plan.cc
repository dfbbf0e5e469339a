#include "codegen/construction_plan.h"

#include <llvm/ADT/SCCIterator.h>

#include <algorithm>

#include "codegen/py_codegen.h"
#include "codegen/reconstruct/reconstructor.h"
#include "codegen/unsupported.h"
#include "core/fault_injection.h"
#include "variables/objects/call_result.h"
#include "variables/protocol/object_protocol.h"

namespace llvm {

template <>
struct GraphTraits<armature::ConstructionPlan::Part*> {
  using NodeRef = armature::ConstructionPlan::Part*;
  using ChildIteratorType = std::vector<NodeRef>::iterator;
  static NodeRef getEntryNode(NodeRef part) { return part; }
  static ChildIteratorType child_begin(NodeRef part) { return part->needs.begin(); }
  static ChildIteratorType child_end(NodeRef part) { return part->needs.end(); }
};

}  // namespace llvm

namespace armature {

namespace {

// Objects are made within each other up to this depth, which bounds the recursion of codegen and
// the stack of what it generates.
constexpr int32_t kDeepest = 32;

}  // namespace

const ConstructionPlan::Part* ConstructionPlan::find(VariableTracker* tracker) const {
  auto found = byTracker_.find(tracker);
  return found == byTracker_.end() ? nullptr : found->second;
}

// The part that stands for a value, counted as referred to once more; null for what exists already
// and for results of the graph.
ConstructionPlan::Part* ConstructionPlan::partOf(const Value& value) {
  VariableTracker* tracker = codegen_.trackerFor(value);
  if (!tracker) return nullptr;
  if (tracker->kind() == VariableKind::Lazy) return nullptr;
  if (tracker->source() || tracker->existing()) return nullptr;
  if (tracker->instance) return partOf(tracker->instance);
  if (Node* node = nodeThatGives(tracker)) {
    outputs_.insert(node);
    return nullptr;
  }
  auto [found, isNew] = byTracker_.try_emplace(tracker, nullptr);
  if (isNew) {
    found->second = &parts_.emplace_back();
    found->second->tracker = tracker;
  }
  ++found->second->references;
  return found->second;
}

void ConstructionPlan::require(const Value& value) {
  faultSite();
  Part* root = partOf(value);
  if (!root) return;
  // Depth first and from the left: graph results come in the order in which they are used.
  std::vector<Part*> pending{root};
  while (!pending.empty()) {
    Part* part = pending.back();
    pending.pop_back();
    if (part->mark != Part::Mark::New) continue;
    part->mark = Part::Mark::Entered;
    expand(part);
    pending.insert(pending.end(), part->holds.rbegin(), part->holds.rend());
    pending.insert(pending.end(), part->needs.rbegin(), part->needs.rend());
  }
}

void ConstructionPlan::expand(Part* part) {
  const Reconstructor& reconstructor = reconstructorOf(part->tracker->kind());
  auto into = [&](std::vector<Part*>& parts) {
    return [this, &parts](const Value& value) {
      if (Part* other = partOf(value)) parts.push_back(other);
    };
  };
  reconstructor.needs(codegen_.translator(), part->tracker, into(part->needs));
  part->firstHeld = part->needs.size();
  bool whole = reconstructor.steps(part->tracker) != Reconstructor::Steps::Two;
  part->twoSteps = !whole;
  reconstructor.holds(codegen_.translator(), part->tracker,
                      into(whole ? part->needs : part->holds));
}

// Where objects need each other, those that can be made empty are.
void ConstructionPlan::breakCycles() {
  std::vector<Part*> cut;
  for (auto component = llvm::scc_begin(&roots_); !component.isAtEnd(); ++component) {
    if (!component.hasCycle()) continue;
    for (Part* part : *component) {
      if (part->twoSteps) continue;
      const Reconstructor& reconstructor = reconstructorOf(part->tracker->kind());
      if (reconstructor.steps(part->tracker) == Reconstructor::Steps::OneOrTwo) cut.push_back(part);
    }
  }
  for (Part* part : cut) {
    part->twoSteps = true;
    part->holds.assign(part->needs.begin() + part->firstHeld, part->needs.end());
    part->needs.resize(part->firstHeld);
  }
}

void ConstructionPlan::place(Part* root) {
  struct Step {
    Part* part;
    size_t next;
  };
  std::vector<Step> path;
  auto enter = [&](Part* part) {
    if (part->mark == Part::Mark::Placed) return;
    if (part->mark == Part::Mark::Entered) {
      throw UnsupportedReconstruction("a cycle through " + describe(part->tracker));
    }
    part->mark = Part::Mark::Entered;
    path.push_back({part, 0});
  };
  enter(root);
  while (!path.empty()) {
    Step& step = path.back();
    Part* part = step.part;
    if (step.next < part->needs.size()) {
      enter(part->needs[step.next++]);
      continue;
    }
    path.pop_back();
    part->mark = Part::Mark::Placed;
    for (const Part* needed : part->needs) {
      if (!needed->hasLocal) part->depth = std::max(part->depth, needed->depth + 1);
    }
    part->hasLocal = part->twoSteps || part->references > 1 || part->depth >= kDeepest ||
                     reconstructorOf(part->tracker->kind()).showsState();
    order_.push_back(part);
  }
}

void ConstructionPlan::finish() {
  // One graph of all that has to exist: its root needs everything.
  for (Part& part : parts_) {
    part.mark = Part::Mark::New;
    roots_.needs.push_back(&part);
  }
  breakCycles();
  for (Part& part : parts_) place(&part);
}

}  // namespace armature
