// How generated code runs an instruction of the program that could not be traced.
#pragma once

#include "interpreter/instruction_translator.h"

namespace armature {

// What an instruction does to the stack on its fall-through path, from the top: it takes `taken`
// entries, looks at `borrowed` ones below them, which stay as they are, and leaves `left` new ones.
struct Operands {
  int32_t taken = 0;
  int32_t left = 0;
  int32_t borrowed = 0;
};

Operands operandsOf(const Instruction& instruction);

// Whether generated code can run the instruction at which a frame stands. Not what deals with the
// frame's own variables, or asks for them.
bool canRunNatively(const FrameState& frame);

}  // namespace armature
