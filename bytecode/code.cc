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
