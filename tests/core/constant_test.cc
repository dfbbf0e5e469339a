#include "core/constant.h"

#include <gtest/gtest.h>

#include <vector>

namespace armature {
namespace {

Ref<> evaluate(const char* expression) {
  Ref<> names = Ref<>::steal(PyDict_New());
  PyDict_SetItemString(names.get(), "__builtins__", PyEval_GetBuiltins());
  Ref<> value = Ref<>::steal(PyRun_String(expression, Py_eval_input, names.get(), names.get()));
  EXPECT_TRUE(value) << expression;
  return value;
}

// No two of these are the same constant; each is the same as another evaluation of itself.
const std::vector<const char*> different = {
    "None",
    "True",
    "False",
    "...",
    "NotImplemented",
    "0",
    "1",
    "-1",
    "2 ** 30",
    "-2 ** 30",
    "2 ** 60",
    "2 ** 90",
    "2 ** 90 + 1",
    "0.0",
    "-0.0",
    "1.0",
    "float('nan')",
    "-float('nan')",
    "float('inf')",
    "1j",
    "-1j",
    "complex(-0.0, 1)",
    "complex(0, float('nan'))",
    "''",
    "'a'",
    "'b'",
    "'ab'",
    "'ä'",
    "'ж'",
    "'😀'",
    "b''",
    "b'a'",
    "()",
    "(1,)",
    "(1.0,)",
    "(True,)",
    "(1, 2)",
    "((1,), 2)",
    "frozenset()",
    "frozenset([1])",
    "frozenset([1.0])",
    "frozenset([1, 2])",
    "slice(1)",
    "slice(1, 2)",
    "slice(1, 2, 3)",
    "slice(1.0)",
    "range(0)",
    "range(3)",
    "range(1, 3)",
    "range(0, 4, 2)",
    "range(0, 3, 2)",
};

TEST(SameConstant, TellsApartWhateverAProgramCould) {
  for (const char* a : different)
    for (const char* b : different) {
      Ref<> first = evaluate(a), second = evaluate(b);
      EXPECT_EQ(sameConstant(first, second), a == b) << a << " and " << b;
      EXPECT_TRUE(isConstant(first));
    }
}

TEST(SameConstant, NansAreTheSameByTheirBits) {
  EXPECT_TRUE(sameConstant(evaluate("float('nan')"), evaluate("float('nan')")));
  EXPECT_FALSE(sameConstant(evaluate("float('nan')"), evaluate("-float('nan')")));
}

TEST(SameConstant, NansInsideOfOthersAreTheSameByIdentity) {
  Ref<> pair = evaluate("[n := float('nan')] and ((n,), (n,), (float('nan'),))");
  EXPECT_TRUE(sameConstant(PyTuple_GET_ITEM(pair.get(), 0), PyTuple_GET_ITEM(pair.get(), 1)));
  EXPECT_FALSE(sameConstant(PyTuple_GET_ITEM(pair.get(), 0), PyTuple_GET_ITEM(pair.get(), 2)));
}

TEST(SameConstant, FrozensetsAreTheSameWithTheirOrder) {
  EXPECT_TRUE(sameConstant(evaluate("frozenset([0, 8])"), evaluate("frozenset([0, 8])")));
  EXPECT_FALSE(sameConstant(evaluate("frozenset([0, 8])"), evaluate("frozenset([8, 0])")));
}

TEST(Constant, IsBoundedInDepthAndSize) {
  const char* deep = "[t := ()] and [t := (t,) for _ in range(100000)][-1]";
  const char* wide = "[t := ()] and [t := (t, t) for _ in range(60)][-1]";
  for (const char* expression : {deep, wide, "(0,) * 1000000"}) {
    Ref<> value = evaluate(expression), other = evaluate(expression);
    EXPECT_FALSE(isConstant(value));
    EXPECT_FALSE(sameConstant(value, other));
    hashConstant(value);
    EXPECT_EQ(constantText(value), "<tuple object>");
  }
}

TEST(HashConstant, IsEqualForTheSame) {
  for (const char* expression : different)
    EXPECT_EQ(hashConstant(evaluate(expression)), hashConstant(evaluate(expression)));
}

TEST(SameConstant, OthersAreOnlyThemselves) {
  for (const char* expression :
       {"[]", "{}", "set()", "object()", "type('I', (int,), {})(1)", "([],)",
        "frozenset([object()])", "slice([])", "len", "bytearray()"}) {
    Ref<> value = evaluate(expression);
    EXPECT_TRUE(sameConstant(value, value));
    EXPECT_FALSE(isConstant(value) || sameConstant(value, evaluate("1"))) << expression;
  }
  EXPECT_FALSE(sameConstant(evaluate("[]"), evaluate("[]")));
}

}  // namespace
}  // namespace armature
