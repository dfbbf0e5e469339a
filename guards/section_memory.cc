#include <algorithm>
#include <new>

#include "guards/guard_program.h"

namespace armature {

namespace {

// Of slots. More objects than that share them.
constexpr size_t kFewest = 8, kMost = 128;

}  // namespace

size_t GuardProgramState::SectionMemory::placeOf(const PyObject* object) const {
  auto address = reinterpret_cast<uintptr_t>(object);
  return (address >> 4 ^ address >> 10) & (slots_.size() - 1);
}

bool GuardProgramState::SectionMemory::recall(const PyObject* object, uint64_t version,
                                              Register* loaded) const {
  if (!version || slots_.empty()) return false;
  size_t place = placeOf(object);
  const Slot& slot = slots_[place];
  if (slot.object != object || slot.version != version) return false;
  std::copy_n(loaded_.data() + place * count_, count_, loaded);
  return true;
}

void GuardProgramState::SectionMemory::put(const Slot& slot, const Register* loaded) {
  size_t place = placeOf(slot.object);
  slots_[place] = slot;
  std::copy_n(loaded, count_, loaded_.data() + place * count_);
}

void GuardProgramState::SectionMemory::record(const PyObject* object, uint64_t version,
                                              const Register* loaded) {
  if (!version) return;
  try {
    bool isFull = slots_.empty();
    if (!isFull && slots_.size() < kMost) {
      const PyObject* there = slots_[placeOf(object)].object;
      isFull = there && there != object;
    }
    if (isFull) {
      SectionMemory larger(count_);
      larger.slots_.resize(slots_.empty() ? kFewest : 2 * slots_.size());
      larger.loaded_.resize(larger.slots_.size() * count_);
      for (size_t i = 0; i < slots_.size(); ++i) {
        if (slots_[i].object) larger.put(slots_[i], loaded_.data() + i * count_);
      }
      *this = std::move(larger);
    }
    put({object, version}, loaded);
  } catch (const std::bad_alloc&) {
    // It is not remembered.
  }
}

void GuardProgram::remember(const Instruction& enter, GuardProgramState& state) const {
  try {
    if (state.memories.empty()) state.memories.resize(state.registers.size());
    std::unique_ptr<GuardProgramState::SectionMemory>& memory = state.memories[enter.output];
    if (memory) return;
    // A section's registers are numbered as it loads them, behind the one of its version.
    uint32_t last = enter.output;
    for (size_t i = enter.target; instructions[i].operation < Operation::CommitDict ||
                                  instructions[i].operation > Operation::CommitType;
         ++i) {
      bool isLoad = instructions[i].operation < Operation::Pin;
      if (isLoad) last = std::max(last, instructions[i].output);
    }
    memory = std::make_unique<GuardProgramState::SectionMemory>(last - enter.output);
  } catch (const std::bad_alloc&) {
    // It does not.
  }
}

}  // namespace armature
