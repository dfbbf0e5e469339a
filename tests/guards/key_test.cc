#include "guards/key.h"

#include <gtest/gtest.h>

namespace armature {
namespace {

Ref<> evaluate(const char* expression) {
  Ref<> names = Ref<>::steal(PyDict_New());
  Ref<> done =
      Ref<>::steal(PyRun_String("import enum, collections, weakref\n"
                                "class Plain: pass\n"
                                "class Loud:\n"
                                "  def __eq__(self, other): raise AssertionError\n"
                                "  def __hash__(self): raise AssertionError\n"
                                "class Hashed:\n"
                                "  def __hash__(self): raise AssertionError\n"
                                "class Color(enum.Enum): RED = 1\n"
                                "class Loudness(enum.Enum):\n"
                                "  HIGH = 1\n"
                                "  def __hash__(self): raise AssertionError\n"
                                "Point = collections.namedtuple('Point', 'x y')\n"
                                "plain, loud, other = Plain(), Loud(), Loud()\n",
                                Py_file_input, names.get(), names.get()));
  EXPECT_TRUE(done);
  Ref<> value = Ref<>::steal(PyRun_String(expression, Py_eval_input, names.get(), names.get()));
  EXPECT_TRUE(value) << expression;
  return value;
}

TEST(HashWithoutCode, IsPythons) {
  for (const char* expression :
       {"1", "'a'", "(1, 'a', (2.5, None))", "Plain", "plain", "(Plain, int, len)", "Color.RED",
        "(Color.RED, frozenset([1]))", "Point(1, 'a')", "()", "-1", "(-1, -2)",
        "weakref.ref(plain)", "weakref.ref(Plain, print)", "(weakref.ref(int),)",
        "int.real.__get__", "(plain.__repr__, [].append)"}) {
    Ref<> key = evaluate(expression);
    EXPECT_EQ(hashWithoutCode(key), PyObject_Hash(key.get())) << expression;
    EXPECT_FALSE(PyErr_Occurred());
  }
}

TEST(HashWithoutCode, AsksNobody) {
  for (const char* expression : {"Loud()", "Hashed()", "(1, Loud())", "weakref.ref(loud)",
                                 "weakref.ref(Plain())", "Loudness.HIGH", "[]", "([],)", "slice(1)",
                                 "[t := ()] and [t := (t,) for _ in range(100000)][-1]"}) {
    EXPECT_FALSE(hashWithoutCode(evaluate(expression))) << expression;
    EXPECT_FALSE(PyErr_Occurred());
  }
}

TEST(EqualKeys, AreEqualAsPythonHasIt) {
  auto equal = [](const char* pair) {
    Ref<> both = evaluate(pair);
    return equalKeys(PyTuple_GET_ITEM(both.get(), 0), PyTuple_GET_ITEM(both.get(), 1));
  };
  for (const char* pair : {"(1, True)", "(1, 1.0)", "((1, int), (True, int))", "(plain, plain)",
                           "((plain, 'ab'), (plain, 'a' + 'b'))", "(Point(1, 2), (1, 2))",
                           "(weakref.ref(plain), weakref.ref(plain, print))",
                           "(int.real.__get__, int.real.__get__)"}) {
    EXPECT_EQ(equal(pair), Presence::Present) << pair;
  }
  for (const char* pair :
       {"(1, 2)", "(plain, Plain())", "((plain,), (Plain(),))", "(int, 'int')",
        "((1, Loud()), (2, Loud()))", "(Color.RED, 1)", "((1,), 1)",
        "(weakref.ref(plain), weakref.ref(Plain))", "(weakref.ref(plain), plain)",
        "(weakref.ref(loud), weakref.ref(Loud()))", "(int.real.__get__, int.imag.__get__)",
        "(loud.__str__, other.__str__)", "(plain.__repr__, len)"}) {
    EXPECT_EQ(equal(pair), Presence::Absent) << pair;
  }
  for (const char* pair : {"(1, Loud())", "(Loud(), plain)", "((1, Loud()), (1, Loud()))",
                           "(weakref.ref(loud), weakref.ref(other))"}) {
    EXPECT_EQ(equal(pair), Presence::Unknown) << pair;
  }
}

}  // namespace
}  // namespace armature
