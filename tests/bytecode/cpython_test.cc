// Our tables against CPython's own knowledge of its opcodes.

#include <gtest/gtest.h>

#include "bytecode/native.h"
#include "tests/bytecode/helpers.h"

namespace armature::testing {
namespace {

long number(const std::string& expression) {
  const Ref<> result = evaluate(expression);
  return result ? PyLong_AsLong(result.get()) : -1;
}

TEST(CPython, AgreesAboutCachesAndJumps) {
  for (int opcode = 0; opcode < 256; ++opcode) {
    const native::NativeOpcode& ours = native::describe(static_cast<uint8_t>(opcode));
    const std::string module = "__import__('opcode')", index = std::to_string(opcode);
    const std::string name = text(evaluate(module + ".opname[" + index + "]"));
    const bool known = name[1] != '<' && name != "'CACHE'" && name != "'EXTENDED_ARG'";
    EXPECT_EQ(ours.known, known) << name;
    if (!known) continue;
    EXPECT_EQ(ours.caches, number(module + "._inline_cache_entries[" + index + "]")) << name;
    EXPECT_EQ(ours.jump != native::NativeOpcode::Jump::None,
              number(index + " in " + module + ".hasjrel + " + module + ".hasjabs") == 1)
        << name;
    EXPECT_EQ(ours.jump == native::NativeOpcode::Jump::Backward,
              name.find("JUMP_BACKWARD") != std::string::npos)
        << name;
  }
}

// Native instructions of one canonical one, and the sum of their effects by CPython.
int effectByCPython(const Code& code, bool jump) {
  std::vector<native::NativeInstruction> natives;
  std::vector<int32_t> origin;
  EXPECT_TRUE(native::toNative(code, natives, origin));
  int effect = 0;
  for (size_t i = 0; i < natives.size() && origin[i] == 0; ++i) {
    const native::NativeInstruction& instruction = natives[i];
    const bool takesArgument =
        number("__import__('opcode').HAVE_ARGUMENT") <= static_cast<long>(instruction.opcode);
    const int here = PyCompile_OpcodeStackEffectWithJump(
        instruction.opcode, takesArgument ? static_cast<int>(instruction.argument) : 0, jump);
    EXPECT_NE(here, PY_INVALID_STACK_EFFECT);
    effect += here;
  }
  return effect;
}

TEST(CPython, AgreesAboutStackEffects) {
  const Opcode opcodes[] = {
#define OPCODE(name, kind) Opcode::name,
#include "bytecode/opcodes.def"
  };
  for (const Opcode opcode : opcodes) {
    if (opcode == Opcode::RETURN_GENERATOR) continue;  // what is sent: CPython counts it elsewhere
    for (int32_t argument = 0; argument < 12; ++argument) {
      if (argumentKind(opcode) == ArgumentKind::None && argument > 0) continue;
      if (opcode == Opcode::BUILD_SLICE && argument != 2 && argument != 3) continue;
      if (opcode == Opcode::CALL_FUNCTION_EX && argument > 1) continue;
      for (const bool jump : {false, true}) {
        Code code = makeCode(std::vector<Instruction>(13), {"local"});
        code.instructions[0] = {opcode, isJump(opcode) ? 12 : argument};
        EXPECT_EQ(stackEffect(code, code.instructions[0], jump), effectByCPython(code, jump))
            << opcodeName(opcode) << " " << argument << (jump ? " jumping" : "");
      }
    }
  }
}

}  // namespace
}  // namespace armature::testing
