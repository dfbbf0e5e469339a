#include "bytecode/liveness.h"

namespace armature {

Liveness::Liveness(const Code& code) : code_(code), classCell_(code.classCell()) {
  splitIntoBlocks();
  solve();
}

const llvm::BitVector& Liveness::liveBefore(size_t instruction) const {
  const Block& block = blocks_[blockOf_[instruction]];
  if (block.live.empty()) materialize(block);
  return block.live[instruction - block.start];
}

// A block starts at a jump's target, after a jump or terminator, at a handler, and where exception
// regions change: so that all instructions of a block have one handler, or none.
void Liveness::splitIntoBlocks() {
  const size_t count = code_.instructions.size();
  std::vector<bool> starts(count + 1);
  starts[0] = true;
  for (size_t i = 0; i < count; ++i) {
    const Instruction& instruction = code_.instructions[i];
    if (isJump(instruction.opcode)) starts[instruction.argument] = true;
    if (isJump(instruction.opcode) || isTerminator(instruction.opcode)) starts[i + 1] = true;
  }
  for (const ExceptionRegion& region : code_.regions) {
    starts[region.start] = starts[region.end] = starts[region.target] = true;
  }
  blockOf_.resize(count);
  for (size_t i = 0; i < count; ++i) {
    if (starts[i]) {
      blocks_.emplace_back();
      blocks_.back().start = static_cast<int32_t>(i);
    }
    blocks_.back().end = static_cast<int32_t>(i + 1);
    blockOf_[i] = static_cast<int32_t>(blocks_.size() - 1);
  }
  for (Block& block : blocks_) {
    const Instruction& last = code_.instructions[block.end - 1];
    if (isJump(last.opcode)) block.successors.push_back(blockOf_[last.argument]);
    if (!isTerminator(last.opcode) && static_cast<size_t>(block.end) < count) {
      block.successors.push_back(blockOf_[block.end]);
    }
  }
  for (const ExceptionRegion& region : code_.regions) {
    for (int32_t i = region.start; i < region.end; i = blocks_[blockOf_[i]].end) {
      blocks_[blockOf_[i]].handler = blockOf_[region.target];
    }
  }
}

void Liveness::solve() {
  const auto localCount = static_cast<unsigned>(code_.locals.size());
  std::vector<std::vector<int32_t>> predecessors(blocks_.size());
  std::vector<int32_t> pending(blocks_.size());
  std::vector<bool> isPending(blocks_.size(), true);
  for (size_t i = 0; i < blocks_.size(); ++i) {
    Block& block = blocks_[i];
    const auto index = static_cast<int32_t>(i);
    block.liveIn.resize(localCount);
    block.liveOut.resize(localCount);
    for (int32_t successor : block.successors) predecessors[successor].push_back(index);
    if (block.handler != -1) predecessors[block.handler].push_back(index);
    pending[i] = index;  // taken from the back: the last block first
  }
  while (!pending.empty()) {
    const int32_t index = pending.back();
    pending.pop_back();
    isPending[index] = false;
    Block& block = blocks_[index];
    for (int32_t successor : block.successors) block.liveOut |= blocks_[successor].liveIn;
    llvm::BitVector live = block.liveOut;
    for (int32_t i = block.end; i-- > block.start;) transfer(code_.instructions[i], live);
    if (block.handler != -1) live |= blocks_[block.handler].liveIn;
    if (live == block.liveIn) continue;
    block.liveIn = std::move(live);
    for (int32_t predecessor : predecessors[index]) {
      if (isPending[predecessor]) continue;
      isPending[predecessor] = true;
      pending.push_back(predecessor);
    }
  }
}

// Makes what is live after the instruction what is live before it.
void Liveness::transfer(const Instruction& instruction, llvm::BitVector& live) const {
  const auto slot = static_cast<unsigned>(instruction.argument);
  switch (instruction.opcode) {
    case Opcode::LOAD_FAST:
    case Opcode::DELETE_FAST:
    case Opcode::LOAD_CLOSURE:
    case Opcode::LOAD_DEREF:
    case Opcode::STORE_DEREF:
    case Opcode::DELETE_DEREF:
    case Opcode::LOAD_CLASSDEREF:
      live.set(slot);
      break;
    case Opcode::STORE_FAST:
      live.reset(slot);
      break;
    case Opcode::MAKE_CELL:
      live[slot] = instruction.argument < code_.boundCount();
      break;
    case Opcode::COPY_FREE_VARS:
      for (unsigned i = 0; i < code_.locals.size(); ++i) {
        if (code_.locals[i].kind == LocalKind::Free) live.reset(i);
      }
      break;
    case Opcode::CALL:
      // It may be super().
      if (instruction.argument == 0 && classCell_ >= 0) {
        live.set(0);
        live.set(static_cast<unsigned>(classCell_));
      }
      break;
    default:
      break;
  }
}

void Liveness::materialize(const Block& block) const {
  block.live.resize(static_cast<size_t>(block.end - block.start));
  llvm::BitVector live = block.liveOut;
  for (int32_t i = block.end; i-- > block.start;) {
    transfer(code_.instructions[i], live);
    if (block.handler != -1) live |= blocks_[block.handler].liveIn;
    block.live[i - block.start] = live;
  }
}

const Liveness& livenessOf(const Code& code) {
  std::shared_ptr<const Liveness>& known = code.liveness.known_;
  if (!known) known = std::make_shared<const Liveness>(code);
  return *known;
}

llvm::BitVector reboundFrom(const Code& code, int32_t start) {
  llvm::BitVector rebound(code.locals.size());
  llvm::BitVector seen(code.instructions.size());
  std::vector<int32_t> pending{start};
  while (!pending.empty()) {
    const int32_t index = pending.back();
    pending.pop_back();
    if (static_cast<size_t>(index) >= seen.size() || seen.test(index)) continue;
    seen.set(index);
    const Instruction& instruction = code.instructions[index];
    if (instruction.opcode == Opcode::STORE_FAST || instruction.opcode == Opcode::DELETE_FAST) {
      rebound.set(instruction.argument);
    }
    if (isJump(instruction.opcode)) pending.push_back(instruction.argument);
    if (!isTerminator(instruction.opcode)) pending.push_back(index + 1);
    const int32_t region = code.regionOf[index];
    if (region >= 0) pending.push_back(code.regions[region].target);
  }
  return rebound;
}

}  // namespace armature
