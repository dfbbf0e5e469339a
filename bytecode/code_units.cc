#include "bytecode/code_units.h"

namespace armature::native {
namespace {

constexpr int maximumExtensions = 3;

bool fail(const char* message, size_t unit) {
  PyErr_Format(PyExc_ValueError, "malformed code: %s at unit %zu", message, unit);
  return false;
}

int extensionsFor(uint32_t argument) {
  return argument > 0xffffff ? 3 : argument > 0xffff ? 2 : argument > 0xff ? 1 : 0;
}

// Turns the offsets of jumps into indices of instructions.
bool resolveJumps(DecodedUnits& decoded) {
  const auto units = static_cast<int64_t>(decoded.byUnit.size());
  for (size_t i = 0; i < decoded.instructions.size(); ++i) {
    NativeInstruction& instruction = decoded.instructions[i];
    const NativeOpcode& opcode = describe(instruction.opcode);
    if (opcode.jump == NativeOpcode::Jump::None) continue;
    const int64_t distance = instruction.argument;
    const int64_t from = decoded.opcodeUnit[i] + 1 + opcode.caches;
    const int64_t target =
        opcode.jump == NativeOpcode::Jump::Forward ? from + distance : from - distance;
    if (target < 0 || target >= units || decoded.byUnit[target] == -1) {
      return fail("a jump to no instruction", decoded.opcodeUnit[i]);
    }
    instruction.argument = static_cast<uint32_t>(decoded.byUnit[target]);
    decoded.isTarget[instruction.argument] = true;
  }
  return true;
}

}  // namespace

bool decodeUnits(std::string_view bytes, DecodedUnits& decoded) {
  if (bytes.size() % 2 != 0 || bytes.size() / 2 > INT32_MAX) return fail("a half unit", 0);
  const size_t units = bytes.size() / 2;
  decoded.byUnit.assign(units, -1);
  decoded.instructions.reserve(units);
  decoded.opcodeUnit.reserve(units);
  for (size_t unit = 0; unit < units;) {
    const auto index = static_cast<int32_t>(decoded.instructions.size());
    uint32_t argument = 0;
    uint8_t opcode = 0;
    decoded.byUnit[unit] = index;
    for (int extensions = 0;; ++extensions, ++unit) {
      if (unit == units) return fail("EXTENDED_ARG of nothing", unit - 1);
      opcode = static_cast<uint8_t>(bytes[2 * unit]);
      argument = argument << 8 | static_cast<uint8_t>(bytes[2 * unit + 1]);
      if (opcode != extendedArgument) break;
      if (extensions == maximumExtensions) return fail("too many EXTENDED_ARG", unit);
    }
    const NativeOpcode& description = describe(opcode);
    if (!description.known) return fail("an unknown opcode", unit);
    if (argument > INT32_MAX) return fail("too large an argument", unit);
    decoded.instructions.push_back({opcode, argument});
    decoded.opcodeUnit.push_back(static_cast<int32_t>(unit));
    unit += 1 + description.caches;
    if (unit > units) return fail("missing caches", units);
  }
  decoded.isTarget.assign(decoded.instructions.size(), false);
  return resolveJumps(decoded);
}

EncodedUnits encodeUnits(const std::vector<NativeInstruction>& instructions) {
  const size_t count = instructions.size();
  EncodedUnits encoded;
  std::vector<int32_t>& starts = encoded.starts;
  starts.resize(count + 1);
  std::vector<uint32_t> arguments(count);
  std::vector<uint8_t> extensions(count);
  // Longer arguments move targets further away, which may make arguments longer. Extensions only
  // ever grow, so this ends.
  for (bool grew = true; grew;) {
    grew = false;
    int32_t unit = 0;
    for (size_t i = 0; i < count; ++i) {
      starts[i] = unit;
      unit += extensions[i] + 1 + describe(instructions[i].opcode).caches;
    }
    starts[count] = unit;
    for (size_t i = 0; i < count; ++i) {
      const NativeOpcode& opcode = describe(instructions[i].opcode);
      arguments[i] = instructions[i].argument;
      if (opcode.jump != NativeOpcode::Jump::None) {
        const int32_t target = starts[instructions[i].argument];
        arguments[i] = static_cast<uint32_t>(opcode.jump == NativeOpcode::Jump::Forward
                                                 ? target - starts[i + 1]
                                                 : starts[i + 1] - target);
      }
      const int needed = extensionsFor(arguments[i]);
      if (needed > extensions[i]) {
        extensions[i] = static_cast<uint8_t>(needed);
        grew = true;
      }
    }
  }
  encoded.bytes.resize(2 * static_cast<size_t>(starts[count]));  // caches stay zero
  for (size_t i = 0; i < count; ++i) {
    char* unit = encoded.bytes.data() + 2 * static_cast<size_t>(starts[i]);
    for (int byte = extensions[i]; byte > 0; --byte) {
      *unit++ = static_cast<char>(extendedArgument);
      *unit++ = static_cast<char>(arguments[i] >> (8 * byte));
    }
    *unit++ = static_cast<char>(instructions[i].opcode);
    *unit++ = static_cast<char>(arguments[i]);
  }
  return encoded;
}

}  // namespace armature::native
