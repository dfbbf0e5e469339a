// How generated code runs an instruction of the program that could not be traced.
#pragma once

#include "interpreter/instruction_translator.h"

namespace armature {

// Whether generated code can run the instruction at which a frame stands. Not what deals with the
// frame's own variables, or asks for them.
bool canRunNatively(const FrameState& frame);

}  // namespace armature
