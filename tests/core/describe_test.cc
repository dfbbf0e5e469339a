#include "core/describe.h"

#include <gtest/gtest.h>

namespace armature {
namespace {

// The description of the value of an expression, in a namespace with one class that objects to
// being printed.
std::string described(const char* expression) {
  Ref<> names = Ref<>::steal(PyDict_New());
  PyDict_SetItemString(names.get(), "__builtins__", PyEval_GetBuiltins());
  Ref<> done =
      Ref<>::steal(PyRun_String("import math\n"
                                "__name__ = 'here'\n"
                                "class Loud:\n"
                                "  def __repr__(self): raise AssertionError\n"
                                "  def method(self): pass\n"
                                "def function(): pass\n",
                                Py_file_input, names.get(), names.get()));
  EXPECT_TRUE(done);
  Ref<> value = Ref<>::steal(PyRun_String(expression, Py_eval_input, names.get(), names.get()));
  EXPECT_TRUE(value) << expression;
  std::string text = describe(value);
  EXPECT_FALSE(PyErr_Occurred());
  return text;
}

TEST(Describe, PrintsConstantsAsPythonDoes) {
  for (const char* constant : {"None", "True", "-3", "2.5", "1j", "'a\\'b'", "b'x'", "Ellipsis"}) {
    Ref<> names = Ref<>::steal(PyDict_New());
    Ref<> value = Ref<>::steal(PyRun_String(constant, Py_eval_input, names.get(), names.get()));
    Ref<> text = Ref<>::steal(PyObject_Repr(value.get()));
    EXPECT_EQ(described(constant), PyUnicode_AsUTF8(text.get()));
  }
}

TEST(Describe, PrintsContainersByTheirElements) {
  EXPECT_EQ(described("(1, 'a')"), "(1, 'a')");
  EXPECT_EQ(described("(1,)"), "(1,)");
  EXPECT_EQ(described("[[], {1: Loud()}]"), "[[], {1: <here.Loud object>}]");
  EXPECT_EQ(described("list(range(100))"),
            "[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, ...]");
  EXPECT_EQ(described("{'a', 'b'}"), "<set of 2>");
  EXPECT_EQ(described("frozenset(['b', 'a'])"), "frozenset({'a', 'b'})");
  EXPECT_EQ(described("(lambda x: x.append(x) or x)([])"), "[[[[...]]]]");
}

TEST(Describe, NamesWhatHasAName) {
  EXPECT_EQ(described("int"), "<class int>");
  EXPECT_EQ(described("Loud"), "<class here.Loud>");
  EXPECT_EQ(described("function"), "<function function>");
  EXPECT_EQ(described("Loud().method"), "<method <function Loud.method> of <here.Loud object>>");
  EXPECT_EQ(described("function.__code__"), "<code function>");
  EXPECT_EQ(described("len"), "<built-in function len>");
  EXPECT_EQ(described("math"), "<module 'math'>");
  EXPECT_EQ(described("object()"), "<object object>");
}

TEST(Describe, IsShortAndNeverFails) {
  EXPECT_EQ(described("'x' * 1000").size(), 203u);
  EXPECT_EQ(described("10 ** 5000"), "<int too long to print>");
  EXPECT_EQ(described("'\\ud800'"), "'\\ud800'");
  EXPECT_EQ(describe(nullptr), "<nothing>");
}

}  // namespace
}  // namespace armature
