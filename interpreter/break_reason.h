// A graph break as users see it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/graph_break.h"
#include "core/ref.h"

namespace armature {

// A frame as a traceback shows it.
struct FrameLine {
  Ref<> filename;
  Ref<> function;
  int32_t line = -1;
};

struct BreakReason {
  GraphBreakKind kind;
  std::string gbType;
  std::string context;
  std::string explanation;
  std::vector<std::string> hints;
  // The frame that broke, and all frames of the trace, that one last.
  std::string filename;
  std::string function;
  int32_t line = -1;
  std::vector<FrameLine> stack;
};

}  // namespace armature
