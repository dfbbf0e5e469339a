#include "bytecode/json.h"

#include <nlohmann/json.hpp>

#include "core/constant.h"
#include "core/text.h"

namespace armature {
namespace {

using Json = nlohmann::ordered_json;

const char* kindName(LocalKind kind) {
  switch (kind) {
    case LocalKind::Local:
      return "local";
    case LocalKind::Cell:
      return "cell";
    case LocalKind::Free:
      return "free";
  }
  return "?";
}

Json known(int32_t value) { return value < 0 ? Json(nullptr) : Json(value); }

Json toJson(const Instruction& instruction, const Position& position) {
  Json result = {{"opcode", opcodeName(instruction.opcode)}};
  if (argumentKind(instruction.opcode) != ArgumentKind::None) {
    result["argument"] = instruction.argument;
  }
  if (instruction.names != -1) result["keyword_names"] = instruction.names;
  result["position"] = {known(position.line), known(position.endLine), known(position.column),
                        known(position.endColumn)};
  return result;
}

}  // namespace

nlohmann::ordered_json toJson(const Code& code) {
  Json locals = Json::array(), constants = Json::array(), names = Json::array();
  for (const LocalVariable& local : code.locals) {
    locals.push_back({{"name", printable(local.name)}, {"kind", kindName(local.kind)}});
  }
  for (const Ref<>& constant : code.constants) constants.push_back(constantText(constant));
  for (const Ref<>& name : code.names) names.push_back(printable(name));
  Json instructions = Json::array(), regions = Json::array();
  for (size_t i = 0; i < code.instructions.size(); ++i) {
    const Position position = i < code.positions.size() ? code.positions[i] : Position{};
    instructions.push_back(toJson(code.instructions[i], position));
  }
  for (const ExceptionRegion& region : code.regions) {
    regions.push_back({{"start", region.start},
                       {"end", region.end},
                       {"target", region.target},
                       {"depth", region.depth},
                       {"lasti", region.pushLasti}});
  }
  return {{"name", printable(code.name)},
          {"qualified_name", printable(code.qualifiedName)},
          {"filename", printable(code.filename)},
          {"first_line", code.firstLine},
          {"flags", code.flags},
          {"argument_count", code.argumentCount},
          {"positional_only_count", code.positionalOnlyCount},
          {"keyword_only_count", code.keywordOnlyCount},
          {"locals", locals},
          {"constants", constants},
          {"names", names},
          {"instructions", instructions},
          {"exception_regions", regions}};
}

}  // namespace armature
