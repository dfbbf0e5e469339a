#include <iomanip>
#include <sstream>

#include "bytecode/code.h"
#include "core/constant.h"
#include "core/text.h"

namespace armature {
namespace {

template <class T>
const T* at(const std::vector<T>& items, int32_t index) {
  return index >= 0 && static_cast<size_t>(index) < items.size() ? &items[index] : nullptr;
}

// What the argument stands for, or nothing.
std::string meaning(const Code& code, const Instruction& instruction) {
  switch (argumentKind(instruction.opcode)) {
    case ArgumentKind::Const: {
      const auto* constant = at(code.constants, instruction.argument);
      return constant != nullptr ? constantText(*constant) : "?";
    }
    case ArgumentKind::Name: {
      const auto* name = at(code.names, instruction.argument);
      return name != nullptr ? printable(*name) : "?";
    }
    case ArgumentKind::Local: {
      const auto* local = at(code.locals, instruction.argument);
      return local != nullptr ? printable(local->name) : "?";
    }
    default:
      break;
  }
  if (instruction.names == -1) return "";
  const auto* names = at(code.constants, instruction.names);
  return "names " + (names != nullptr ? constantText(*names) : "?");
}

std::string line(const Code& code, size_t index, bool isTarget) {
  const Instruction& instruction = code.instructions[index];
  std::ostringstream text;
  text << (isTarget ? ">> " : "   ") << std::setw(4) << index << "  "
       << opcodeName(instruction.opcode);
  if (argumentKind(instruction.opcode) != ArgumentKind::None) text << "  " << instruction.argument;
  const std::string explained = meaning(code, instruction);
  if (!explained.empty()) text << " (" << explained << ")";
  const Position* position = index < code.positions.size() ? &code.positions[index] : nullptr;
  const bool newLine = position != nullptr && position->line >= 0 &&
                       (index == 0 || code.positions[index - 1].line != position->line);
  if (newLine) text << "   # line " << position->line;
  return text.str();
}

}  // namespace

std::string toString(const Code& code, size_t index) { return line(code, index, false); }

std::string toString(const Code& code) {
  std::vector<bool> isTarget(code.instructions.size());
  const auto mark = [&](int32_t target) {
    if (target >= 0 && static_cast<size_t>(target) < isTarget.size()) isTarget[target] = true;
  };
  for (const Instruction& instruction : code.instructions) {
    if (isJump(instruction.opcode)) mark(instruction.argument);
  }
  for (const ExceptionRegion& region : code.regions) mark(region.target);
  std::ostringstream text;
  for (size_t i = 0; i < code.instructions.size(); ++i) text << line(code, i, isTarget[i]) << '\n';
  if (!code.regions.empty()) text << "exception regions:\n";
  for (const ExceptionRegion& region : code.regions) {
    text << "  [" << region.start << ", " << region.end << ") -> " << region.target << ", depth "
         << region.depth << (region.pushLasti ? ", lasti" : "") << '\n';
  }
  return text.str();
}

}  // namespace armature
