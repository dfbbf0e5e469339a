#include "bytecode/code.h"

#include <algorithm>

namespace armature {

void Code::indexRegions() {
  regionOf.assign(instructions.size(), -1);
  for (size_t i = 0; i < regions.size(); ++i) {
    std::fill(regionOf.begin() + regions[i].start, regionOf.begin() + regions[i].end,
              static_cast<int32_t>(i));
  }
}

Position shownPosition(const Code& code, int32_t instruction) {
  for (size_t i = instruction; i < code.positions.size(); ++i) {
    if (code.positions[i].line >= 0) return code.positions[i];
  }
  return {code.firstLine, code.firstLine};
}

bool yieldsForDelegate(const Code& code, int32_t instruction) {
  return instruction > 0 && code.instructions[instruction - 1].opcode == Opcode::SEND;
}

int32_t Code::classCell() const {
  for (size_t i = 0; i < locals.size(); ++i) {
    if (locals[i].kind == LocalKind::Free &&
        PyUnicode_CompareWithASCIIString(locals[i].name.get(), "__class__") == 0) {
      return static_cast<int32_t>(i);
    }
  }
  return -1;
}

}  // namespace armature
