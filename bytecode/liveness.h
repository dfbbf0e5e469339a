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
  // must exist to be written); STORE_FAST and MAKE_CELL define it, COPY_FREE_VARS defines all free
  // variables. MAKE_CELL uses an argument, which becomes the content of the cell.
  //
  // The flow is solved over basic blocks; the code must outlive this.
  explicit Liveness(const Code& code);

  // Locals that are live just before the instruction. The reference stays good.
  const llvm::BitVector& liveBefore(size_t instruction) const;

 private:
  struct Block {
    int32_t start = 0;
    int32_t end = 0;
    llvm::BitVector liveIn;
    llvm::BitVector liveOut;  // what is live after its last instruction
    std::vector<int32_t> successors;
    int32_t handler = -1;  // the block to which all its instructions raise
    // liveBefore of each instruction, once one was asked for.
    mutable std::vector<llvm::BitVector> live;
  };

  void splitIntoBlocks();
  void solve();
  void transfer(const Instruction& instruction, llvm::BitVector& live) const;
  void materialize(const Block& block) const;

  const Code& code_;
  int32_t classCell_;
  std::vector<Block> blocks_;
  std::vector<int32_t> blockOf_;  // for each instruction
};

// The Liveness of a Code that is complete, which keeps it.
const Liveness& livenessOf(const Code& code);

// Locals that some path from the instruction stores or deletes: what they hold there may die before
// the frame does.
llvm::BitVector reboundFrom(const Code& code, int32_t start);

}  // namespace armature
