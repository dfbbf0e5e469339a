// Which objects and graph results have to exist when the trace is over, and in which order they are
// made. What is not reached from the result, the stacks, the live locals and the effects is never
// made. Walks data of any depth and shape without recursion.
#pragma once

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/SetVector.h>

#include <deque>
#include <limits>
#include <vector>

#include "graph/graph.h"
#include "variables/variable_tracker.h"

namespace armature {

class PyCodegen;

class ConstructionPlan {
 public:
  // One new object.
  struct Part {
    VariableTracker* tracker = nullptr;
    std::vector<Part*> needs;  // must exist before it does
    std::vector<Part*> holds;  // are put in later
    // Those of `needs` from here on can be put in later if a cycle demands it.
    size_t firstHeld = 0;
    int32_t references = 0;
    // Made empty first, filled when everything exists.
    bool twoSteps = false;
    // Kept in a local from where it is made; others are made where they are used, once.
    bool hasLocal = false;
    // The first effect that stores it.
    int32_t storedBy = std::numeric_limits<int32_t>::max();
    // The effect behind which it is made, as it shows what that one leaves, or leads to what does;
    // -1: it is made before the effects are replayed.
    int32_t behind = -1;
    bool isLate() const { return behind >= 0; }
    // How many objects are made within each other where this one is used.
    int32_t depth = 0;
    enum class Mark : uint8_t { New, Entered, Placed };
    Mark made = Mark::New;
    Mark filled = Mark::New;
  };

  struct Step {
    Part* part;
    bool fills;  // an object of two steps; else makes one
  };

  explicit ConstructionPlan(PyCodegen& codegen) : codegen_(codegen) {}

  // The value has to exist.
  void require(const Value& value);
  // It has to when the effect of that number is replayed.
  void requireForEffect(const Value& value, int32_t number);
  // Orders what was required. Throws UnsupportedReconstruction where a cycle passes only through
  // objects that cannot be made before their parts are, and where an effect stores what can be made
  // only behind it.
  void finish();

  // Every step behind those that it needs. Valid once finished, like the rest.
  llvm::ArrayRef<Step> early() const { return llvm::ArrayRef(order_).take_front(firstLate_); }
  // Those that come behind effects, in the order of these (Part::behind).
  llvm::ArrayRef<Step> late() const { return llvm::ArrayRef(order_).drop_front(firstLate_); }
  // Null for what exists already.
  const Part* find(VariableTracker* tracker) const;
  const Part* find(const Value& value) const { return known(value); }
  // Graph results in the order in which they were required.
  bool isOutput(Node* node) const { return outputs_.contains(node); }
  llvm::ArrayRef<Node*> outputs() const { return outputs_.getArrayRef(); }

 private:
  Part* known(const Value& value) const;
  Part* partOf(const Value& value);
  void expand(Part* part);
  void breakCycles();
  void findLate();
  std::vector<Part*> filledBefore(const Part* part) const;
  void place(Step root);
  void placeAll(int32_t behind);

  PyCodegen& codegen_;
  std::deque<Part> parts_;
  llvm::DenseMap<VariableTracker*, Part*> byTracker_;
  llvm::SetVector<Node*> outputs_;
  Part roots_;
  std::vector<Step> order_;
  size_t firstLate_ = 0;
};

}  // namespace armature
