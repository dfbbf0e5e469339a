// What differs from one CPython version to the next, behind one interface: cpython_3XX.cc
// implements it for its version, and is empty for the others. No other file asks for the version.
#pragma once

#include <cstdint>
#include <vector>

#include "bytecode/code.h"

namespace armature::native {

// An instruction as CPython has it, without its EXTENDED_ARG prefixes and its caches. The argument
// of a jump is the index of its target, not an offset.
struct NativeInstruction {
  uint8_t opcode = 0;
  uint32_t argument = 0;

  bool operator==(const NativeInstruction&) const = default;
};

// The opcode is unknown to `info` if it is not one that co_code may hold.
struct NativeOpcode {
  enum class Jump : uint8_t { None, Forward, Backward };
  bool known = false;
  uint8_t caches = 0;  // code units after it that serve its specialization
  Jump jump = Jump::None;
};

const NativeOpcode& describe(uint8_t opcode);
extern const uint8_t extendedArgument;

// Native to canonical. `positions` has one entry for each native instruction, `isTarget` says which
// are jumped to. Jumps keep native indices as their arguments. `origin` receives, for each
// canonical instruction, the native one that it stands for; it never decreases. False, with
// ValueError set, if the instructions do not fit together.
bool toCanonical(const std::vector<NativeInstruction>& natives,
                 const std::vector<Position>& positions, const std::vector<bool>& isTarget,
                 std::vector<Instruction>& instructions, std::vector<int32_t>& origin);

// Canonical, consistent code to native. Jumps keep canonical indices as their arguments. `origin`
// receives, for each native instruction, the canonical one that it stands for; it never decreases.
// False, with ValueError set, if this version cannot express an instruction.
bool toNative(const Code& code, std::vector<NativeInstruction>& natives,
              std::vector<int32_t>& origin);

// What a code object holds beside the canonical code.
struct Encoding {
  Ref<> code;            // bytes
  Ref<> locationTable;   // bytes
  Ref<> exceptionTable;  // bytes
  int32_t stackSize = 0;
};
// Expects locals in CPython's order (arguments, plain locals, cells, free variables).
Ref<PyCodeObject> makeCodeObject(const Code& code, const Encoding& encoding);

// How many code units it has, of two bytes each.
size_t unitCount(BorrowedRef<PyCodeObject> code);
// Gives the frames of `made`, which has not run yet, room for the locals of `other`.
void reserveSlots(BorrowedRef<PyCodeObject> made, BorrowedRef<PyCodeObject> other);

// What the innermost frame of Python in this thread runs; null if there is none.
BorrowedRef<PyCodeObject> runningCode();

// What code objects own for one user of theirs: `release` is called with it when a code object
// dies, with null for one that has nothing. Lives as long as the process.
class CodeExtra {
 public:
  explicit constexpr CodeExtra(void (*release)(void*)) : release_(release) {}
  // Null where nothing was set. Both: false with an exception set on failure.
  bool get(BorrowedRef<PyCodeObject> code, void** extra);
  bool set(BorrowedRef<PyCodeObject> code, void* extra);

 private:
  bool reserve();

  void (*release_)(void*);
  Py_ssize_t index_ = -1;  // CPython's, from the first use on
};

}  // namespace armature::native
