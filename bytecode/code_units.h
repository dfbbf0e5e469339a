// Code units (co_code's pairs of opcode and argument byte) and the native instructions that they
// spell: EXTENDED_ARG, caches and relative jumps live here and nowhere else.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "bytecode/native.h"

namespace armature::native {

struct DecodedUnits {
  std::vector<NativeInstruction> instructions;
  std::vector<int32_t> opcodeUnit;  // for each instruction, the unit of its opcode
  std::vector<int32_t> byUnit;      // for each unit at which an instruction starts (with its
                                    // EXTENDED_ARG, if any), the instruction; else -1
  std::vector<bool> isTarget;       // for each instruction, whether a jump goes there
};

// False, with ValueError set, if the units are not whole instructions.
bool decodeUnits(std::string_view bytes, DecodedUnits& decoded);

struct EncodedUnits {
  std::string bytes;
  // For each instruction, the unit at which it starts (with EXTENDED_ARG); one more: the end.
  std::vector<int32_t> starts;
};

EncodedUnits encodeUnits(const std::vector<NativeInstruction>& instructions);

}  // namespace armature::native
