// Inputs to which nothing but the frame has a reference any more.
#include "bytecode/liveness.h"
#include "interpreter/instruction_translator.h"
#include "variables/ends_of_objects.h"

namespace armature {

// The objects that a trace makes, and its frames, do not die one by one. So where code of the
// program may hear of the end of an input before the frame's own, Python runs the frame.
void InstructionTranslator::leaveEndsToPython() {
  if (!entry_.movesInputs) return;
  llvm::ArrayRef<Value> slots(frame_->slots);
  std::vector<Value> mayGo(slots.begin() + frame_->localCount,
                           slots.begin() + frame_->localCount + frame_->depth);
  llvm::BitVector rebound = reboundFrom(*entry_.code, entry_.start);
  for (int local = rebound.find_first(); local >= 0; local = rebound.find_next(local)) {
    mayGo.push_back(slots[local]);
  }
  if (inputsEndSilently(*this, mayGo, slots)) return;
  // With the guard.
  mark(*frame_, true);
  throw GraphBreak(GraphBreakKind::EndOfObject);
}

}  // namespace armature
