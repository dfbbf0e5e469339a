#include "core/graph_break.h"

#include <utility>

#include "core/fault_injection.h"

namespace armature {

namespace {

constexpr GraphBreakEntry kRegistry[] = {
#define GRAPH_BREAK(Identifier, gbType, explanation, hint) {#Identifier, gbType, explanation, hint},
#include "core/graph_break_kinds.def"
#undef GRAPH_BREAK
};

static_assert(std::size(kRegistry) <= 256, "GraphBreakKind is one byte");

}  // namespace

std::vector<std::string> GraphBreakEntry::hints() const {
  if (!*hint) return {};
  return {hint};
}

llvm::ArrayRef<GraphBreakEntry> graphBreakRegistry() { return kRegistry; }

const GraphBreakEntry& entryOf(GraphBreakKind kind) { return kRegistry[static_cast<size_t>(kind)]; }

GraphBreak::GraphBreak(GraphBreakKind kind, std::string context, std::string explanation)
    : kind_(kind), context_(std::move(context)), explanation_(std::move(explanation)) {
  if (explanation_.empty()) explanation_ = entryOf(kind).explanation;
  faultSite();
}

}  // namespace armature
