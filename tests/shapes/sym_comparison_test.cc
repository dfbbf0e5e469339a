#include "shapes/sym_comparison.h"

#include <gtest/gtest.h>

namespace armature {
namespace {

class SymComparisons : public testing::Test {
 protected:
  const SymNode* constant(long value) {
    return nodes.constant(Ref<>::steal(PyLong_FromLong(value)));
  }
  const SymNode* input(long value) {
    Ref<> name = Ref<>::steal(PyUnicode_FromString("n"));
    return nodes.input(sources.local(0, name), Ref<>::steal(PyLong_FromLong(value)));
  }
  const SymNode* apply(SymOperation operation, const SymNode* left, const SymNode* right) {
    bool unused;
    return nodes.apply(operation, left, right, unused);
  }
  SourceTable sources;
  SymNodeTable nodes;
};

TEST_F(SymComparisons, RepeatsWhatWasCompared) {
  const SymNode* n = input(13);
  ComparisonOfInput made =
      compareSymbolically(*apply(SymOperation::Remainder, n, constant(10)), Py_EQ, *constant(0));
  ASSERT_TRUE(made.comparison);
  EXPECT_EQ(made.source, n->source);
  EXPECT_FALSE(made.comparison->outcome);
  EXPECT_TRUE(made.comparison->holds(-7));
  EXPECT_FALSE(made.comparison->holds(-20));
  EXPECT_EQ(made.comparison->text("n"), "n % 10 != 0");
}

TEST_F(SymComparisons, DividesAsPython) {
  for (long divisor : {7, -7, 1, -1}) {
    for (long value : {0, 3, 7, 20, -3, -7, -20}) {
      for (auto operation : {SymOperation::FloorDivide, SymOperation::Remainder}) {
        const SymNode* node = apply(operation, input(value), constant(divisor));
        ComparisonOfInput made = compareSymbolically(*node, Py_EQ, *nodes.constant(node->hint));
        ASSERT_TRUE(made.comparison);
        EXPECT_TRUE(made.comparison->outcome) << value << " by " << divisor;
      }
    }
  }
}

TEST_F(SymComparisons, LeavesOutWhatDoesNotFit) {
  ComparisonOfInput large = compareSymbolically(
      *apply(SymOperation::Multiply, input(2), constant(1L << 59)), Py_LT, *constant(5));
  ASSERT_TRUE(large.comparison);
  EXPECT_FALSE(large.comparison->holds(1L << 59));
  Ref<> half = Ref<>::steal(PyFloat_FromDouble(0.5));
  EXPECT_FALSE(compareSymbolically(*input(2), Py_LT, *nodes.constant(half)).comparison);
  EXPECT_FALSE(compareSymbolically(*constant(1), Py_LT, *constant(2)).comparison);
}

}  // namespace
}  // namespace armature
