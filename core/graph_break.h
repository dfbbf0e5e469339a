// What the translator throws when it meets something that it cannot trace.
//
// A GraphBreak says nothing about the traced program being wrong: the interpreter catches it in one
// place, rewinds to where the program can be resumed, and lets Python run what was unsupported.
//
// There is a fixed number of kinds; what a user reads about each is in graph_break_kinds.def.
#pragma once

#include <cstdint>
#include <exception>
#include <string>
#include <vector>

#include "llvm/ADT/ArrayRef.h"

namespace armature {

enum class GraphBreakKind : uint8_t {
#define GRAPH_BREAK(Identifier, gbType, explanation, hint) Identifier,
#include "core/graph_break_kinds.def"
#undef GRAPH_BREAK
};

// A row of the registry. All texts are static; a hint that is "" is none.
struct GraphBreakEntry {
  const char* identifier;
  const char* gbType;  // a constant phrase by which breaks are counted and looked up
  const char* explanation;
  const char* hint;

  std::vector<std::string> hints() const;
};

// In the order of GraphBreakKind.
llvm::ArrayRef<GraphBreakEntry> graphBreakRegistry();

const GraphBreakEntry& entryOf(GraphBreakKind kind);

class GraphBreak : public std::exception {
 public:
  // context: the values at hand. explanation: in place of the kind's own, where the reason varies,
  // as that of a library does; "" is the kind's own.
  explicit GraphBreak(GraphBreakKind kind, std::string context = "", std::string explanation = "");

  GraphBreakKind kind() const { return kind_; }
  const std::string& context() const { return context_; }
  const std::string& explanation() const { return explanation_; }
  const char* what() const noexcept override { return explanation_.c_str(); }

 private:
  GraphBreakKind kind_;
  std::string context_;
  std::string explanation_;
};

}  // namespace armature
