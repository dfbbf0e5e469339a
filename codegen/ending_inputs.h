// In which order a frame that returns lets go of its inputs.
#pragma once

#include <llvm/ADT/ArrayRef.h>
#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/SetVector.h>
#include <llvm/ADT/SmallVector.h>

#include "interpreter/instruction_translator.h"

namespace armature {

// The inputs of which the locals of a frame let go as it ends, by their numbers and in the order of
// their ends: an object ends with the last of the locals, and of the objects that the trace has
// made, that have it (frame_dealloc, and the tp_dealloc of containers).
class EndingInputs {
 public:
  EndingInputs(InstructionTranslator& translator, llvm::ArrayRef<Value> locals);
  // Lives as long as this.
  llvm::ArrayRef<int64_t> order() const { return order_.getArrayRef(); }

 private:
  llvm::SmallVector<VariableTracker*, 8> parts(VariableTracker* made);
  void count(const Value& local);
  void release(const Value& local);

  InstructionTranslator& translator_;
  llvm::DenseMap<VariableTracker*, int64_t> references_;
  llvm::SmallSetVector<int64_t, 16> order_;
};

}  // namespace armature
