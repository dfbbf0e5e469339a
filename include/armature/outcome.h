// What became of a call that was to be captured.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "armature/graph.h"
#include "armature/guards.h"

namespace armature::api {

// Why a graph ends before the function does.
struct Break {
  std::string type;     // a constant phrase, by which breaks are counted
  std::string context;  // what it was here
  std::string explanation;
  std::vector<std::string> hints;
  std::string file;
  std::string function;
  int line = 0;
};

// A value: it stays as it is when the function is compiled anew or dropped.
struct Outcome {
  enum class Kind {
    Whole,   // the graph is all that the function does with arrays
    Broken,  // the graph ends at `reason`; from there Python goes on, and captures anew
    Plain,   // nothing was captured: calls like this one run the function as it is
  };
  Kind kind = Kind::Plain;
  Graph graph;
  Guards guards;
  // The code that replaces the function's: canonical instructions, one a line; "" if there is none.
  std::string bytecode;
  std::optional<Break> reason;
  // How much was interpreted, and in how much time.
  unsigned long long instructions = 0;
  double seconds = 0;
};

}  // namespace armature::api
