#include "engine/outcomes.h"

#include <sstream>

namespace armature::api {

namespace {

std::vector<std::string> lines(const std::string& text) {
  std::vector<std::string> result;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) result.push_back(std::move(line));
  return result;
}

Break breakOf(const BreakReason& reason) {
  return {reason.gbType,   reason.context,  reason.explanation, reason.hints,
          reason.filename, reason.function, reason.line};
}

}  // namespace

Outcome outcomeOf(const CacheEntry& entry) {
  Outcome outcome;
  if (entry.function) outcome.kind = entry.reason ? Outcome::Kind::Broken : Outcome::Kind::Whole;
  outcome.graph = Graph(entry.graph);
  if (entry.guards)
    outcome.guards = Guards(lines(entry.guards->toString()), entry.guards->programText());
  if (entry.generated) outcome.bytecode = toString(*entry.generated);
  if (entry.reason) outcome.reason = breakOf(*entry.reason);
  outcome.instructions = entry.instructionCount;
  outcome.seconds = entry.traceSeconds + entry.backendSeconds;
  return outcome;
}

}  // namespace armature::api
