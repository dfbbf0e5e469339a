#include "bytecode/assembler.h"

#include <gtest/gtest.h>

#include "tests/bytecode/helpers.h"

namespace armature::testing {
namespace {

Assembler newAssembler() { return Assembler(string("made"), string("<made>"), 10); }

TEST(Assembler, WritesAFunctionThatRuns) {
  // def made(items): total = 0; for item in items: total += item; return total
  Assembler assembler = newAssembler();
  const int32_t items = assembler.addParameter(string("items"));
  const int32_t total = assembler.addLocal(string("total"));
  const auto loop = assembler.newLabel(), done = assembler.newLabel();
  assembler.emit(Opcode::RESUME);
  assembler.emitLoadConst(evaluate("0"));
  assembler.emit(Opcode::STORE_FAST, total);
  assembler.emit(Opcode::LOAD_FAST, items);
  assembler.emit(Opcode::GET_ITER);
  assembler.bind(loop);
  assembler.emitJump(Opcode::FOR_ITER, done);
  assembler.emit(Opcode::LOAD_FAST, total);
  assembler.emit(Opcode::SWAP, 2);
  assembler.emit(Opcode::BINARY_OP, 13);  // +=
  assembler.emit(Opcode::STORE_FAST, total);
  assembler.emitJump(Opcode::JUMP, loop);
  assembler.bind(done);
  assembler.emit(Opcode::LOAD_FAST, total);
  assembler.emit(Opcode::RETURN_VALUE);
  const CodePtr code = assembler.finish();
  EXPECT_EQ(text(call(lowered(*code), {evaluate("[1, 2, 3]")})), "6");
  EXPECT_EQ(assembler.size(), 0u);
}

TEST(Assembler, CallsWithKeywordNamesAndNames) {
  Assembler assembler = newAssembler();
  assembler.emit(Opcode::RESUME);
  assembler.emit(Opcode::PUSH_NULL);
  assembler.emitName(Opcode::LOAD_GLOBAL, "dict");
  assembler.emitLoadConst(evaluate("1"));
  assembler.emitLoadConst(evaluate("2"));
  assembler.emitCall(2, evaluate("('a', 'b')"));
  assembler.emit(Opcode::RETURN_VALUE);
  EXPECT_EQ(text(call(lowered(*assembler.finish()))), "{'a': 1, 'b': 2}");
}

TEST(Assembler, SharesConstantsByIdentity) {
  Assembler assembler = newAssembler();
  const auto add = [&](const char* expression) {
    return assembler.addConstant(evaluate(expression));
  };
  EXPECT_NE(add("float('1.5')"), add("float('1.5')"));  // `is` tells them apart
  EXPECT_NE(add("1"), add("1.0"));
  EXPECT_NE(add("[]"), add("[]"));
  const Ref<> list = evaluate("[]");
  EXPECT_EQ(assembler.addConstant(list), assembler.addConstant(list));
  EXPECT_EQ(add("None"), add("None"));
}

TEST(Assembler, SharesNames) {
  Assembler assembler = newAssembler();
  EXPECT_EQ(assembler.addName(string("one")), 0);
  EXPECT_EQ(assembler.addName(string("two")), 1);
  EXPECT_EQ(assembler.addName(string("one")), 0);
}

TEST(Assembler, FindsFreshLocals) {
  Assembler assembler = newAssembler();
  assembler.addParameter(string("x"));
  assembler.addFreshLocal("x");
  assembler.addFreshLocal("x");
  assembler.addFreshLocal("y");
  assembler.emit(Opcode::RESUME);
  const CodePtr code = assembler.finish();
  ASSERT_EQ(code->locals.size(), 4u);
  EXPECT_EQ(text(code->locals[1].name), "'x_1'");
  EXPECT_EQ(text(code->locals[2].name), "'x_2'");
  EXPECT_EQ(text(code->locals[3].name), "'y'");
  EXPECT_EQ(code->argumentCount, 1);
}

// f_locals asks them in their order: of one name, the last one decides.
TEST(Assembler, ShowsTheProgramsLocals) {
  Assembler assembler = newAssembler();
  const LocalVariable a{string("a")}, b{string("b")}, cell{string("c"), LocalKind::Cell};
  for (const auto* variable : {&a, &b, &cell}) assembler.addParameter(variable->name);
  const int32_t helper = assembler.addFreshLocal("stack");
  const int32_t cellPlace = assembler.addShownLocal(cell);
  assembler.show(helper, a);
  assembler.show(0, b);
  assembler.show(assembler.addFreshLocal("local"), a);
  assembler.emit(Opcode::RESUME);
  assembler.showFrameOf({a, b, cell, {string("unset")}});
  const CodePtr code = assembler.finish();

  std::vector<std::string> names;
  for (const LocalVariable& local : code->locals) names.push_back(text(local.name));
  // The parameter that is called c has a name of its own, and what hides it; so has the helper.
  const std::vector<std::string> expected{"'b'", "'b_1'",   "'c_1'", "'stack'", "'c'",
                                          "'a'", "'unset'", "'b_1'", "'c_1'",   "'stack'"};
  EXPECT_EQ(names, expected);
  EXPECT_EQ(code->locals[cellPlace].kind, LocalKind::Cell);
  ASSERT_EQ(code->instructions.size(), 3u);
  EXPECT_EQ(code->instructions[0].opcode, Opcode::JUMP);
  EXPECT_EQ(code->instructions[0].argument, 2);
  EXPECT_EQ(code->instructions[1].opcode, Opcode::MAKE_CELL);
  EXPECT_EQ(code->instructions[1].argument, cellPlace);
}

TEST(Assembler, NestsRegions) {
  Assembler assembler = newAssembler();
  const auto outer = assembler.newLabel(), inner = assembler.newLabel();
  const auto emit = [&](int count) {
    while (count-- > 0) assembler.emit(Opcode::NOP);
  };
  emit(1);
  assembler.beginRegion(outer, 0, false);
  emit(2);
  assembler.beginRegion(inner, 1, true);
  assembler.beginRegion(outer, 7, true);  // covers nothing
  assembler.endRegion();
  emit(3);
  assembler.endRegion();
  emit(1);
  assembler.endRegion();
  emit(1);
  assembler.bind(outer);
  emit(1);
  assembler.bind(inner);
  emit(1);
  const CodePtr code = assembler.finish();
  const std::vector<ExceptionRegion> expected = {
      {1, 3, 8, 0, false}, {3, 6, 9, 1, true}, {6, 7, 8, 0, false}};
  EXPECT_EQ(code->regions, expected);
  EXPECT_EQ(code->regionOf, (std::vector<int32_t>{-1, 0, 0, 1, 1, 1, 2, -1, -1, -1}));
}

TEST(Assembler, CatchesAnException) {
  // try: int(text) except: return 'caught'
  Assembler assembler = newAssembler();
  const int32_t parameter = assembler.addParameter(string("text"));
  const auto handler = assembler.newLabel();
  assembler.emit(Opcode::RESUME);
  assembler.beginRegion(handler, 0, false);
  assembler.emit(Opcode::PUSH_NULL);
  assembler.emitName(Opcode::LOAD_GLOBAL, "int");
  assembler.emit(Opcode::LOAD_FAST, parameter);
  assembler.emitCall(1);
  assembler.endRegion();
  assembler.emit(Opcode::RETURN_VALUE);
  assembler.bind(handler);
  assembler.emit(Opcode::PUSH_EXC_INFO);
  assembler.emit(Opcode::POP_TOP);
  assembler.emit(Opcode::POP_EXCEPT);
  assembler.emitLoadConst(string("caught"));
  assembler.emit(Opcode::RETURN_VALUE);
  const Ref<PyCodeObject> code = lowered(*assembler.finish());
  EXPECT_EQ(text(call(code, {string("12")})), "12");
  EXPECT_EQ(text(call(code, {string("no number")})), "'caught'");
}

TEST(Assembler, GivesPositions) {
  Assembler assembler = newAssembler();
  assembler.emit(Opcode::RESUME);
  assembler.setPosition({3, 4, 5, 6});
  assembler.emitLoadConst(evaluate("None"));
  assembler.emit(Opcode::RETURN_VALUE);
  const CodePtr code = assembler.finish();
  EXPECT_EQ(code->positions[0], Position{});
  EXPECT_EQ(code->positions[2], (Position{3, 4, 5, 6}));
}

TEST(Assembler, LeavesUnboundLabelsForLowerToRefuse) {
  Assembler assembler = newAssembler();
  assembler.emit(Opcode::RESUME);
  assembler.emitJump(Opcode::JUMP, assembler.newLabel());
  EXPECT_NE(lowerError(*assembler.finish()), "");
}

TEST(Assembler, TreatsCellsInPlainLocals) {
  // def made(cell): cell.cell_contents += 1 by its slot; return it
  Assembler assembler = newAssembler();
  const int32_t cell = assembler.addParameter(string("cell"));
  assembler.emit(Opcode::RESUME);
  assembler.emit(Opcode::LOAD_DEREF, cell);
  assembler.emitLoadConst(evaluate("1"));
  assembler.emit(Opcode::BINARY_OP, 0);
  assembler.emit(Opcode::STORE_DEREF, cell);
  assembler.emit(Opcode::LOAD_CLOSURE, cell);
  assembler.emit(Opcode::RETURN_VALUE);
  const Ref<> argument = evaluate("(lambda x: (lambda: x))(41).__closure__[0]");
  const Ref<> result = call(lowered(*assembler.finish()), {argument});
  EXPECT_EQ(result.get(), argument.get());
  EXPECT_EQ(text(PyCell_GET(argument.get())), "42");
}

}  // namespace
}  // namespace armature::testing
