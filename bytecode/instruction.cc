#include "bytecode/instruction.h"

#include <cstddef>

namespace armature {
namespace {

struct OpcodeInformation {
  std::string_view name;
  ArgumentKind argument;
};

constexpr OpcodeInformation opcodes[] = {
#define OPCODE(name, kind) {#name, ArgumentKind::kind},
#include "bytecode/opcodes.def"
};

const OpcodeInformation& information(Opcode opcode) { return opcodes[static_cast<size_t>(opcode)]; }

}  // namespace

std::string_view opcodeName(Opcode opcode) { return information(opcode).name; }

ArgumentKind argumentKind(Opcode opcode) { return information(opcode).argument; }

bool isTerminator(Opcode opcode) {
  switch (opcode) {
    case Opcode::JUMP:
    case Opcode::RETURN_VALUE:
    case Opcode::RAISE_VARARGS:
    case Opcode::RERAISE:
      return true;
    default:
      return false;
  }
}

}  // namespace armature
