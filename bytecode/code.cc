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

}  // namespace armature
