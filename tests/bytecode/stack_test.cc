// The flow of stack depths.

#include <gtest/gtest.h>

#include "tests/bytecode/helpers.h"

namespace armature::testing {
namespace {

std::string depthError(const Code& code) {
  std::string error;
  const std::vector<int32_t> depths = stackDepths(code, &error);
  EXPECT_EQ(depths.empty(), !error.empty());
  return error;
}

TEST(StackDepths, FollowBothBranches) {
  const Code code = makeCode({{Opcode::LOAD_CONST, 0},
                              {Opcode::GET_ITER},
                              {Opcode::FOR_ITER, 5},
                              {Opcode::POP_TOP},
                              {Opcode::JUMP, 2},
                              {Opcode::LOAD_CONST, 0},
                              {Opcode::JUMP_IF_TRUE_OR_POP, 8},
                              {Opcode::LOAD_CONST, 0},
                              {Opcode::RETURN_VALUE},
                              {Opcode::POP_TOP}});
  EXPECT_EQ(stackDepths(code, nullptr), (std::vector<int32_t>{0, 1, 1, 2, 1, 0, 1, 0, 1, -1}));
}

TEST(StackDepths, EnterHandlers) {
  Code code = makeCode({{Opcode::LOAD_CONST, 0},
                        {Opcode::LOAD_CONST, 0},
                        {Opcode::RETURN_VALUE},
                        {Opcode::RERAISE, 1},
                        {Opcode::RERAISE, 0}});
  code.regions = {{0, 1, 4, 0, false}, {1, 3, 3, 1, true}};
  EXPECT_EQ(stackDepths(code, nullptr), (std::vector<int32_t>{0, 1, 2, 3, 1}));
}

TEST(StackDepths, StartGeneratorsWithWhatIsSent) {
  Code code = makeCode({{Opcode::RETURN_GENERATOR},
                        {Opcode::POP_TOP},
                        {Opcode::LOAD_CONST, 0},
                        {Opcode::RETURN_VALUE}});
  EXPECT_EQ(stackDepths(code, nullptr), (std::vector<int32_t>{0, 1, 0, 1}));
}

TEST(StackDepths, SayWhatIsWrong) {
  EXPECT_EQ(depthError(makeCode({})), "there are no instructions");
  EXPECT_EQ(depthError(makeCode({{Opcode::POP_TOP}, {Opcode::RETURN_VALUE}})),
            "instruction 0 (POP_TOP) needs 1 stack entries, there are 0");
  EXPECT_EQ(depthError(makeCode({{Opcode::LOAD_CONST, 0}, {Opcode::COPY, 2}})),
            "instruction 1 (COPY) needs 2 stack entries, there are 1");
  EXPECT_EQ(depthError(makeCode({{Opcode::NOP}})),
            "instruction 0 (NOP) runs off the end of the code");
  EXPECT_EQ(depthError(makeCode({{Opcode::JUMP, 1}})),
            "instruction 0 (JUMP) jumps out of the code");
  EXPECT_EQ(depthError(makeCode({{Opcode::JUMP, -1}})),
            "instruction 0 (JUMP) has a negative argument");
  EXPECT_EQ(depthError(makeCode({{Opcode::LOAD_CONST, 0}, {Opcode::JUMP, 0}})),
            "instruction 0 (LOAD_CONST) is reached with 0 and, by a jump, with 1 stack entries");
  EXPECT_NE(depthError(makeCode({{Opcode::PUSH_NULL}, {Opcode::UNPACK_SEQUENCE, INT32_MAX}})), "");
  EXPECT_NE(depthError(makeCode({{Opcode::PUSH_NULL}, {Opcode::BUILD_MAP, INT32_MAX}})), "");
}

TEST(StackDepths, WantTheRegionsDepth) {
  Code code = makeCode({{Opcode::LOAD_CONST, 0}, {Opcode::RETURN_VALUE}, {Opcode::RERAISE, 0}});
  code.regions = {{0, 1, 2, 1, false}};
  EXPECT_EQ(
      depthError(code),
      "instruction 0 (LOAD_CONST) leaves fewer stack entries than its exception region keeps");
  code.regions = {{0, 9, 2, 0, false}};
  EXPECT_EQ(depthError(code), "exception region 0 is out of range");
}

}  // namespace
}  // namespace armature::testing
