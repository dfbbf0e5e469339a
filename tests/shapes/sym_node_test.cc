#include "shapes/sym_node.h"

#include <gtest/gtest.h>

#include <string>

namespace armature {
namespace {

Ref<> evaluate(const char* expression) {
  Ref<> names = Ref<>::steal(PyDict_New());
  return Ref<>::steal(PyRun_String(expression, Py_eval_input, names.get(), names.get()));
}

std::string text(const SymNode* node) {
  if (!node) return "none";
  Ref<> repr = Ref<>::steal(PyObject_Repr(node->hint.get()));
  return PyUnicode_AsUTF8(repr.get());
}

class SymNodes : public testing::Test {
 protected:
  const SymNode* input(const char* value) {
    Ref<> name = Ref<>::steal(PyUnicode_FromString("x"));
    return nodes.input(sources.local(0, name), evaluate(value));
  }
  const SymNode* constant(const char* value) { return nodes.constant(evaluate(value)); }
  const SymNode* apply(SymOperation operation, const SymNode* left, const SymNode* right) {
    return nodes.apply(operation, left, right, needsSmallInputs);
  }
  SourceTable sources;
  SymNodeTable nodes;
  bool needsSmallInputs = false;
};

TEST_F(SymNodes, ComputesAsPython) {
  using enum SymOperation;
  EXPECT_EQ(text(apply(Add, input("7"), constant("1"))), "8");
  EXPECT_EQ(text(apply(FloorDivide, input("-7"), constant("2"))), "-4");
  EXPECT_EQ(text(apply(Remainder, input("-7"), constant("3"))), "2");
  EXPECT_EQ(text(apply(Subtract, constant("1"), input("7"))), "-6");
  EXPECT_EQ(text(apply(Power, input("7"), constant("2"))), "49");
  EXPECT_EQ(text(nodes.negate(input("0.0"))), "-0.0");
  EXPECT_FALSE(needsSmallInputs);
  EXPECT_EQ(text(apply(TrueDivide, input("7"), constant("2"))), "3.5");
  EXPECT_TRUE(needsSmallInputs);
}

TEST_F(SymNodes, RefusesWhatMayRaise) {
  using enum SymOperation;
  EXPECT_FALSE(apply(FloorDivide, input("7"), constant("0")));
  EXPECT_FALSE(apply(Remainder, input("7.0"), constant("0.0")));
  EXPECT_FALSE(apply(TrueDivide, input("7"), input("2")));
  EXPECT_FALSE(apply(Power, input("7"), constant("-1")));
  EXPECT_FALSE(apply(Power, input("7.5"), constant("2")));
  EXPECT_FALSE(apply(Add, input("1.5"), constant("2 ** 2000")));
}

TEST_F(SymNodes, SumsOfIntsDoNotGrow) {
  const SymNode* sum = input("0");
  for (int i = 0; i < 1000; ++i) sum = apply(SymOperation::Add, sum, constant("1"));
  EXPECT_EQ(text(sum), "1000");
  EXPECT_EQ(sum->size, 3);
}

TEST_F(SymNodes, AreBoundedInSize) {
  const SymNode* product = input("1.0");
  int steps = 0;
  while (product && ++steps < 1000) product = apply(SymOperation::Multiply, product, product);
  EXPECT_LT(steps, 100);
}

}  // namespace
}  // namespace armature
