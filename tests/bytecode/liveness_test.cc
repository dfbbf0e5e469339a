#include "bytecode/liveness.h"

#include <gtest/gtest.h>

#include "tests/bytecode/helpers.h"

namespace armature::testing {
namespace {

// The names of the live locals before the instruction, in the order of the locals.
std::string liveNames(const Code& code, const Liveness& liveness, size_t instruction) {
  std::string names;
  for (unsigned local : liveness.liveBefore(instruction).set_bits()) {
    names += (names.empty() ? "" : " ");
    names += PyUnicode_AsUTF8(code.locals[local].name.get());
  }
  return names;
}

std::vector<std::string> liveNames(const Code& code) {
  const Liveness liveness(code);
  std::vector<std::string> result;
  for (size_t i = 0; i < code.instructions.size(); ++i) {
    result.push_back(liveNames(code, liveness, i));
  }
  return result;
}

using Names = std::vector<std::string>;

TEST(Liveness, FollowsStraightCode) {
  const Code code = makeCode({{Opcode::LOAD_FAST, 0},
                              {Opcode::STORE_FAST, 1},
                              {Opcode::LOAD_FAST, 1},
                              {Opcode::DELETE_FAST, 1},
                              {Opcode::RETURN_VALUE}},
                             {"a", "b", "c"});
  EXPECT_EQ(liveNames(code), (Names{"a", "", "b", "b", ""}));
}

TEST(Liveness, JoinsBranches) {
  const Code code = makeCode({{Opcode::LOAD_FAST, 0},
                              {Opcode::POP_JUMP_IF_FALSE, 4},
                              {Opcode::LOAD_FAST, 1},
                              {Opcode::RETURN_VALUE},
                              {Opcode::LOAD_FAST, 2},
                              {Opcode::RETURN_VALUE}},
                             {"a", "b", "c"});
  EXPECT_EQ(liveNames(code), (Names{"a b c", "b c", "b", "", "c", ""}));
}

TEST(Liveness, GoesAroundLoops) {
  const Code code = makeCode({{Opcode::LOAD_FAST, 0},   // 0
                              {Opcode::GET_ITER},       // 1
                              {Opcode::FOR_ITER, 7},    // 2
                              {Opcode::STORE_FAST, 1},  // 3
                              {Opcode::LOAD_FAST, 2},   // 4: read in the next turn
                              {Opcode::STORE_FAST, 2},  // 5
                              {Opcode::JUMP, 2},        // 6
                              {Opcode::LOAD_FAST, 3},   // 7
                              {Opcode::RETURN_VALUE}},  // 8
                             {"a", "item", "total", "after"});
  EXPECT_EQ(liveNames(code), (Names{"a total after", "total after", "total after", "total after",
                                    "total after", "after", "total after", "after", ""}));
}

TEST(Liveness, FollowsExceptions) {
  // 1 and 2 may raise to 4, which reads a: the store at 1 does not end its life before 1.
  Code code = makeCode({{Opcode::LOAD_FAST, 1},
                        {Opcode::STORE_FAST, 0},
                        {Opcode::LOAD_FAST, 2},
                        {Opcode::RETURN_VALUE},
                        {Opcode::LOAD_FAST, 0},
                        {Opcode::RETURN_VALUE}},
                       {"a", "b", "c"});
  code.regions = {{1, 3, 4, 0, false}};
  code.indexRegions();
  EXPECT_EQ(liveNames(code), (Names{"a b c", "a c", "a c", "", "a", ""}));
}

TEST(Liveness, FollowsExceptionsInLoopsThroughHandlers) {
  const CodePtr code = lifted(R"(
def f(items):
    kept = None
    for item in items:
        try:
            kept = item.value
        except AttributeError as error:
            note = str(error)
        else:
            note = ''
    return kept
)");
  const Liveness liveness(*code);
  for (size_t i = 0; i < code->instructions.size(); ++i) {
    if (code->instructions[i].opcode == Opcode::LOAD_ATTR) {
      EXPECT_EQ(liveNames(*code, liveness, i), "kept");
    }
    if (code->instructions[i].opcode == Opcode::FOR_ITER) {
      EXPECT_EQ(liveNames(*code, liveness, i), "kept");
    }
  }
  EXPECT_EQ(liveNames(*code, liveness, 0), "items");
}

TEST(Liveness, KeepsCellsThatAreWritten) {
  const CodePtr code = lifted(R"(
def make():
    free = 0
    def f(argument):
        nonlocal free
        cell = 1
        free = argument
        return lambda: (argument, cell)
    return f
f = make()
)");
  const Names names = liveNames(*code);
  EXPECT_EQ(names[0], "argument");  // becomes the content of its cell
  size_t resume = 0;
  while (code->instructions[resume].opcode != Opcode::RESUME) ++resume;
  EXPECT_EQ(names[resume], "argument cell free");
}

TEST(Liveness, HandlesLargeCodeFast) {
  std::string source = "def f(x):\n";
  for (int i = 0; i < 2000; ++i) {
    const std::string name = "v" + std::to_string(i % 500);
    source += "    if x: " + name + " = x\n    else: x = " + name + "\n";
  }
  const CodePtr code = lifted(source + "    return x\n");
  ASSERT_GT(code->instructions.size(), 10000u);
  const Liveness liveness(*code);
  for (size_t i = 0; i < code->instructions.size(); ++i) {
    ASSERT_LE(liveness.liveBefore(i).count(), 501u);
  }
}

}  // namespace
}  // namespace armature::testing
