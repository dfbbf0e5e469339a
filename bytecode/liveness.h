// Which locals (cells and free variables included) may still be read after a point of the code.
#pragma once

#include <llvm/ADT/BitVector.h>

#include <vector>

#include "bytecode/code.h"

namespace armature {

class Liveness {
 public:
  // Backward data flow over the instructions, exception edges included. LOAD_FAST, LOAD_CLOSURE,
  // LOAD_DEREF, STORE_DEREF, DELETE_DEREF, LOAD_CLASSDEREF and DELETE_FAST use their slot (a cell
  // must exist to be written); STORE_FAST and MAKE_CELL define it.
  explicit Liveness(const Code& code);

  // Locals that are live just before the instruction.
  const llvm::BitVector& liveBefore(size_t instruction) const { return live_[instruction]; }

 private:
  std::vector<llvm::BitVector> live_;
};

}  // namespace armature
