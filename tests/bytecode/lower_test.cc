// What lower() does beyond undoing lift(), and what it refuses.

#include <gtest/gtest.h>

#include "tests/bytecode/helpers.h"

namespace armature::testing {
namespace {

const Instruction returnNone[] = {{Opcode::LOAD_CONST, 0}, {Opcode::RETURN_VALUE}};

Code returningNone(std::vector<Instruction> instructions, std::vector<const char*> locals = {}) {
  instructions.insert(instructions.end(), std::begin(returnNone), std::end(returnNone));
  return makeCode(std::move(instructions), std::move(locals));
}

TEST(Lower, PutsLocalsInCPythonsOrder) {
  // A cell, then a plain local: CPython wants them the other way round.
  Code code = makeCode({{Opcode::MAKE_CELL, 1},
                        {Opcode::RESUME, 0},
                        {Opcode::LOAD_FAST, 0},
                        {Opcode::STORE_DEREF, 1},
                        {Opcode::LOAD_DEREF, 1},
                        {Opcode::STORE_FAST, 2},
                        {Opcode::LOAD_FAST, 2},
                        {Opcode::RETURN_VALUE}},
                       {"argument", "cell", "plain"});
  code.argumentCount = 1;
  code.locals[1].kind = LocalKind::Cell;
  const Ref<PyCodeObject> result = lowered(code);
  EXPECT_EQ(text(call(result, {evaluate("7")})), "7");
  EXPECT_EQ(text(result->co_localsplusnames), "('argument', 'plain', 'cell')");
}

TEST(Lower, KeepsTheIdentityOfConstants) {
  Code code = returningNone({{Opcode::RESUME, 0}});
  const Ref<> constants[] = {evaluate("'na' + 'me'[:]"), evaluate("frozenset(['na' 'me'])"),
                             evaluate("[]"), evaluate("''.join(['a', 'b'])")};
  for (const Ref<>& constant : constants) code.constants.push_back(constant);
  const Ref<PyCodeObject> result = lowered(code);
  for (Py_ssize_t i = 0; i < 4; ++i) {
    EXPECT_EQ(PyTuple_GET_ITEM(result->co_consts, i + 1), constants[i].get()) << i;
  }
}

TEST(Lower, FusesNullAndGlobalOnlyWhereNothingComesBetween) {
  const auto size = [](const Code& code) { return Py_SIZE(lowered(code).get()); };
  Code code = returningNone({{Opcode::RESUME, 0},
                             {Opcode::PUSH_NULL},
                             {Opcode::LOAD_GLOBAL, 0},
                             {Opcode::POP_TOP},
                             {Opcode::POP_TOP}});
  const Py_ssize_t fused = size(code);
  code.positions[1] = {5, 5, 1, 2};
  EXPECT_EQ(size(code), fused + 1);
  code.positions[1] = {};
  code.regions = {{2, 3, 5, 0, false}};
  EXPECT_NE(lowerError(code), "");  // the handler is entered with one more
  code.instructions.insert(code.instructions.begin() + 5, {{Opcode::JUMP, 7}, {Opcode::POP_TOP}});
  code.positions.resize(code.instructions.size());
  code.regions[0].target = 6;
  EXPECT_EQ(size(code), fused + 1 + 2);
}

TEST(Lower, RefusesWhatCannotRun) {
  EXPECT_EQ(lowerError(returningNone({{Opcode::RESUME, 0}})), "");
  EXPECT_EQ(lowerError(makeCode({})), "cannot lower: there are no instructions");
  EXPECT_EQ(lowerError(returningNone({{Opcode::LOAD_CONST, 9}})),
            "cannot lower: instruction 0 (LOAD_CONST) names no constant");
  EXPECT_EQ(lowerError(returningNone({{Opcode::LOAD_FAST, 1}}, {"a"})),
            "cannot lower: instruction 0 (LOAD_FAST) names no local");
  EXPECT_EQ(lowerError(returningNone({{Opcode::LOAD_GLOBAL, 1}})),
            "cannot lower: instruction 0 (LOAD_GLOBAL) names no name");
  EXPECT_EQ(lowerError(returningNone({{Opcode::JUMP, 3}})),
            "cannot lower: instruction 0 (JUMP) jumps to no instruction");
  EXPECT_EQ(lowerError(returningNone({{Opcode::NOP, 1}})),
            "cannot lower: instruction 0 (NOP) takes no argument");
  EXPECT_EQ(lowerError(returningNone({{Opcode::POP_TOP}})),
            "cannot lower: instruction 0 (POP_TOP) needs 1 stack entries, there are 0");
  EXPECT_EQ(lowerError(returningNone({{Opcode::COPY_FREE_VARS, 1}})),
            "cannot lower: instruction 0 (COPY_FREE_VARS) has a meaningless argument");
  EXPECT_EQ(lowerError(returningNone({{Opcode::YIELD_VALUE}})),
            "cannot lower: instruction 0 (YIELD_VALUE) outside of a generator");
  EXPECT_EQ(lowerError(returningNone({{Opcode::RETURN_GENERATOR}, {Opcode::POP_TOP}})),
            "cannot lower: RETURN_GENERATOR and the flags for generators go together");
  EXPECT_NE(lowerError(makeCode({{Opcode::LOAD_CONST, 0}})), "");
  EXPECT_NE(lowerError(returningNone({{Opcode::LOAD_CONST, 0}, {Opcode::FOR_ITER, 1}})), "");
}

TEST(Lower, RefusesJumpsThatDoNotExist) {
  EXPECT_EQ(lowerError(makeCode({{Opcode::LOAD_CONST, 0},
                                 {Opcode::JUMP_IF_TRUE_OR_POP, 1},
                                 {Opcode::LOAD_CONST, 0},
                                 {Opcode::RETURN_VALUE}})),
            "instruction 1 (JUMP_IF_TRUE_OR_POP) cannot jump backward");
}

TEST(Lower, RefusesKeywordNamesThatAreNone) {
  const auto withNames = [](Ref<> names, int32_t index = 1) {
    Code code = returningNone({{Opcode::PUSH_NULL},
                               {Opcode::LOAD_GLOBAL, 0},
                               {Opcode::LOAD_CONST, 0},
                               {Opcode::CALL, 1, index},
                               {Opcode::POP_TOP}});
    code.constants.push_back(std::move(names));
    return code;
  };
  EXPECT_EQ(lowerError(withNames(evaluate("('a',)"))), "");
  EXPECT_NE(lowerError(withNames(evaluate("('a', 'b')"))), "");
  EXPECT_NE(lowerError(withNames(evaluate("(1,)"))), "");
  EXPECT_NE(lowerError(withNames(evaluate("['a']"))), "");
  EXPECT_NE(lowerError(withNames(evaluate("('a',)"), 7)), "");
  EXPECT_NE(lowerError(withNames(evaluate("('a',)"), -7)), "");
}

TEST(Lower, RefusesInconsistentHeaders) {
  const auto error = [](const auto& change) {
    Code code = returningNone({{Opcode::RESUME, 0}}, {"a", "b"});
    change(code);
    return lowerError(code);
  };
  EXPECT_EQ(error([](Code&) {}), "");
  EXPECT_NE(error([](Code& code) { code.argumentCount = 3; }), "");
  EXPECT_NE(error([](Code& code) { code.argumentCount = -1; }), "");
  EXPECT_NE(error([](Code& code) { code.argumentCount = INT32_MAX; }), "");
  EXPECT_NE(error([](Code& code) { code.positionalOnlyCount = 1; }), "");
  EXPECT_NE(error([](Code& code) { code.keywordOnlyCount = 3; }), "");
  EXPECT_NE(error([](Code& code) { code.name = nullptr; }), "");
  EXPECT_NE(error([](Code& code) { code.filename = evaluate("1"); }), "");
  EXPECT_NE(error([](Code& code) { code.names[0] = evaluate("1"); }), "");
  EXPECT_NE(error([](Code& code) { code.constants[0] = nullptr; }), "");
  EXPECT_NE(error([](Code& code) { code.locals[0].name = nullptr; }), "");
  EXPECT_NE(error([](Code& code) { code.positions.pop_back(); }), "");
  EXPECT_NE(error([](Code& code) { code.flags |= CO_GENERATOR; }), "");
  EXPECT_NE(error([](Code& code) {
              code.argumentCount = 1;
              code.locals[0].kind = LocalKind::Free;
            }),
            "");
  EXPECT_NE(error([](Code& code) {
              code.locals[0].kind = LocalKind::Cell;
              code.locals[1].name = code.locals[0].name;
            }),
            "");
}

TEST(Lower, RefusesInconsistentRegions) {
  const auto error = [](std::vector<ExceptionRegion> regions) {
    Code code = returningNone({{Opcode::RESUME, 0}, {Opcode::JUMP, 3}, {Opcode::RERAISE, 0}});
    code.regions = std::move(regions);
    return lowerError(code);
  };
  EXPECT_EQ(error({{0, 1, 2, 0, false}, {1, 2, 2, 0, false}}), "");
  EXPECT_NE(error({{0, 2, 2, 0, false}, {1, 2, 2, 0, false}}), "");
  EXPECT_NE(error({{1, 1, 2, 0, false}}), "");
  EXPECT_NE(error({{-1, 1, 2, 0, false}}), "");
  EXPECT_NE(error({{0, 6, 2, 0, false}}), "");
  EXPECT_NE(error({{0, 1, 5, 0, false}}), "");
  EXPECT_NE(error({{0, 1, -1, 0, false}}), "");
  EXPECT_NE(error({{0, 1, 2, -1, false}}), "");
  EXPECT_NE(error({{0, 1, 2, INT32_MAX, false}}), "");
  EXPECT_NE(error({{0, 1, 2, 1, false}}), "");
}

}  // namespace
}  // namespace armature::testing
