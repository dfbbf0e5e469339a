// One canonical instruction. Immutable once its Code is built.
#pragma once

#include <cstdint>
#include <string_view>

namespace armature {

enum class Opcode : uint8_t {
#define OPCODE(name, kind) name,
#include "bytecode/opcodes.def"
};

enum class ArgumentKind : uint8_t { None, Int, Const, Name, Local, Label };

// Both are total: every Opcode has a name and an argument kind.
std::string_view opcodeName(Opcode opcode);
ArgumentKind argumentKind(Opcode opcode);

// True for JUMP, RETURN_VALUE, RAISE_VARARGS, RERAISE: control never reaches the next instruction.
bool isTerminator(Opcode opcode);
// It deals with the variables of its frame, or with what the frame is doing, and so means something
// else in another frame, even with the same stack.
bool needsItsFrame(Opcode opcode);
// True for every opcode whose argument is a Label.
inline bool isJump(Opcode opcode) { return argumentKind(opcode) == ArgumentKind::Label; }

struct Instruction {
  Opcode opcode = Opcode::NOP;
  // Meaning by argumentKind(opcode); 0 where the opcode takes none.
  int32_t argument = 0;
  // CALL only: index in Code::constants of the tuple of keyword names, or -1.
  int32_t names = -1;

  bool operator==(const Instruction&) const = default;
};

// Source range of an instruction, as co_positions() gives it; -1 where unknown. Columns are UTF-8
// byte offsets.
struct Position {
  int32_t line = -1;
  int32_t endLine = -1;
  int32_t column = -1;
  int32_t endColumn = -1;

  bool operator==(const Position&) const = default;
};

}  // namespace armature
