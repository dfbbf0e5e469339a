#include "codegen/construction_plan.h"

#include <llvm/ADT/SCCIterator.h>

#include <algorithm>
#include <set>

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
  return byTracker_.lookup(tracker);
}

ConstructionPlan::Part* ConstructionPlan::known(const Value& value) const {
  VariableTracker* tracker = codegen_.trackerFor(value);
  while (tracker && tracker->instance) tracker = tracker->instance;
  return tracker ? byTracker_.lookup(tracker) : nullptr;
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
    if (part->made != Part::Mark::New) continue;
    part->made = Part::Mark::Entered;
    expand(part);
    pending.insert(pending.end(), part->holds.rbegin(), part->holds.rend());
    pending.insert(pending.end(), part->needs.rbegin(), part->needs.rend());
  }
}

void ConstructionPlan::requireForEffect(const Value& value, int32_t number) {
  require(value);
  if (Part* part = known(value)) part->storedBy = std::min(part->storedBy, number);
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

// What leads to a late part is at least as late.
void ConstructionPlan::findLate() {
  const SideEffects& effects = codegen_.translator().effects;
  std::vector<std::pair<Part*, int32_t>> pending;
  for (Part& part : parts_) {
    const Reconstructor& reconstructor = reconstructorOf(part.tracker->kind());
    VariableTracker* shown = reconstructor.showsReplayed(codegen_.translator(), part.tracker);
    if (!shown) continue;
    int32_t last = effects.last(shown);
    pending.emplace_back(&part, last == SideEffects::kNone ? effects.size() : last);
  }
  if (pending.empty()) return;
  llvm::DenseMap<Part*, llvm::SmallVector<Part*, 2>> users;
  for (Part& part : parts_) {
    for (Part* other : part.needs) users[other].push_back(&part);
    for (Part* other : part.holds) users[other].push_back(&part);
  }
  while (!pending.empty()) {
    auto [part, behind] = pending.back();
    pending.pop_back();
    if (part->behind >= behind) continue;
    part->behind = behind;
    if (part->storedBy <= behind) {
      throw UnsupportedReconstruction(describe(part->tracker) + ", which is stored before");
    }
    for (Part* user : users.lookup(part)) pending.emplace_back(user, behind);
  }
}

std::vector<ConstructionPlan::Part*> ConstructionPlan::filledBefore(const Part* part) const {
  std::vector<Part*> parts;
  const Reconstructor& reconstructor = reconstructorOf(part->tracker->kind());
  reconstructor.filledBefore(part->tracker, [&](const Value& value) {
    Part* other = known(value);
    if (other && other->twoSteps) parts.push_back(other);
  });
  return parts;
}

void ConstructionPlan::place(Step root) {
  struct Place {
    Step step;
    std::vector<Step> before;
    size_t next = 0;
  };
  std::vector<Place> path;
  auto markOf = [](Step step) -> Part::Mark& {
    return step.fills ? step.part->filled : step.part->made;
  };
  auto enter = [&](Step step) {
    Part* part = step.part;
    if (markOf(step) == Part::Mark::Placed) return;
    if (markOf(step) == Part::Mark::Entered) {
      throw UnsupportedReconstruction("a cycle through " + describe(part->tracker));
    }
    markOf(step) = Part::Mark::Entered;
    Place& place = path.emplace_back(Place{step});
    if (step.fills) place.before.push_back({part, false});
    for (Part* other : step.fills ? part->holds : part->needs) {
      place.before.push_back({other, false});
    }
    if (step.fills) return;
    for (Part* other : filledBefore(part)) place.before.push_back({other, true});
  };
  enter(root);
  while (!path.empty()) {
    Place& place = path.back();
    if (place.next < place.before.size()) {
      enter(place.before[place.next++]);
      continue;
    }
    Step step = place.step;
    path.pop_back();
    markOf(step) = Part::Mark::Placed;
    order_.push_back(step);
    if (step.fills) continue;
    Part* part = step.part;
    for (const Part* needed : part->needs) {
      if (!needed->hasLocal) part->depth = std::max(part->depth, needed->depth + 1);
    }
    part->hasLocal = part->twoSteps || part->isLate() || part->references > 1 ||
                     part->depth >= kDeepest || reconstructorOf(part->tracker->kind()).showsState();
  }
}

// All that are made, then what is left to fill of them, in the order in which they are.
void ConstructionPlan::placeAll(int32_t behind) {
  size_t first = order_.size();
  for (Part& part : parts_) {
    if (part.behind == behind) place({&part, false});
  }
  for (size_t i = first, end = order_.size(); i < end; ++i) {
    Step step = order_[i];
    if (!step.fills && step.part->twoSteps) place({step.part, true});
  }
}

void ConstructionPlan::finish() {
  // One graph of all that has to exist: its root needs everything.
  for (Part& part : parts_) {
    part.made = Part::Mark::New;
    roots_.needs.push_back(&part);
  }
  breakCycles();
  findLate();
  placeAll(-1);
  firstLate_ = order_.size();
  std::set<int32_t> moments;
  for (const Part& part : parts_) {
    if (part.isLate()) moments.insert(part.behind);
  }
  for (int32_t behind : moments) placeAll(behind);
}

}  // namespace armature
