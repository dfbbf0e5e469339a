// What a failure of the graph needs of what it has computed: the second trace of the call, up to
// the failed operation (codegen/graph_failure.h), replays the effects as they stood there, and
// rebuilds the exceptions that are handled there, with values that the program may have let go of
// since.
#include <llvm/ADT/DenseSet.h>

#include <algorithm>
#include <vector>

#include "interpreter/instruction_translator.h"
#include "interpreter/parts.h"
#include "variables/objects/call_result.h"
#include "variables/objects/exception.h"

namespace armature {

namespace {

// Beyond it the graph keeps all values, so that a long trace stays linear in time.
constexpr size_t kMostSteps = 1 << 17;

}  // namespace

void InstructionTranslator::hold(int32_t until, llvm::function_ref<void(PartVisitor)> visitRoots) {
  llvm::DenseSet<VariableTracker*> seen;
  std::vector<VariableTracker*> pending;
  auto reach = [&](const Value& value) {
    ++holdSteps_;
    if (!value.isTracker()) return;
    VariableTracker* tracker = value.tracker();
    bool isMade = !tracker->source() && !tracker->existing();
    if (Node* node = isMade ? nodeThatGives(tracker) : nullptr) {
      node->heldUntil = std::max(node->heldUntil, until);
    } else if (VariableTracker* object = newObject(value); object && seen.insert(object).second) {
      pending.push_back(object);
    }
  };
  visitRoots(reach);
  while (!pending.empty() && holdSteps_ <= kMostSteps) {
    VariableTracker* object = pending.back();
    pending.pop_back();
    visitParts(object, nullptr, reach);
  }
  if (holdSteps_ > kMostSteps) graph->keepAllValues();
}

// Where frames end without what they held (runtime/failed_graph.cc), that is none of a generator,
// which others may have, or of a call that goes on in another way.
void InstructionTranslator::holdValuesOfFrames() {
  bool mayGoOn = false;
  for (Frame* frame = frame_; frame; frame = frame->back) {
    mayGoOn = mayGoOn || frame->generator || !frame->continuations.empty();
  }
  if (!mayGoOn || !parts_ || holdSteps_ > kMostSteps) return;
  hold(graph->nextOrdinal(), [&](PartVisitor reach) {
    for (Frame* frame = frame_; frame; frame = frame->back) {
      for (int32_t i = 0; i < frame->localCount + frame->depth; ++i) reach(frame->slots[i]);
    }
  });
}

void InstructionTranslator::holdValuesForFailure() {
  holdValuesOfFrames();
  Value handled = handledInTrace();
  VariableTracker* exception = handled.isTracker() ? handled.tracker() : nullptr;
  if (!exception && effects.empty()) return;
  bool isKnown = heldAt_ == effects.changeCount() && heldFor_ == exception;
  if (!parts_ || isKnown || holdSteps_ > kMostSteps) return;
  heldAt_ = effects.changeCount();
  heldFor_ = exception;
  hold(Node::kToTheEnd, [&](PartVisitor reach) {
    for (int32_t i = 0; i < effects.size(); ++i) {
      ++holdSteps_;
      if (effects[i].kind != EffectKind::Cancelled) parts_->ofEffect(*this, effects[i], reach);
    }
    // What is handled, here and around, becomes the context of what the operation raises, with its
    // traceback and the frames in that.
    if (exception) reach(handled);
    for (Frame* frame = frame_; exception && frame; frame = frame->back) {
      for (const Value& value : llvm::ArrayRef(frame->stack(), frame->depth)) {
        if (trackerOf<ExceptionVariable>(value)) reach(value);
      }
    }
  });
}

}  // namespace armature
