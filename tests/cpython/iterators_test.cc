#include "cpython/iterators.h"

#include <gtest/gtest.h>

#include <string>

namespace armature::cpython {
namespace {

class Iterators : public testing::Test {
 protected:
  void run(const char* program) {
    PyDict_SetItemString(names_.get(), "__builtins__", PyEval_GetBuiltins());
    Ref<> result = Ref<>::steal(PyRun_String(program, Py_file_input, names_.get(), names_.get()));
    if (!result) PyErr_Print();
    ASSERT_TRUE(result);
  }
  PyObject* named(const char* name) { return PyDict_GetItemString(names_.get(), name); }
  Step step(int64_t distance) { return stepAhead(named("walk"), distance); }
  // The items ahead up to the end, as Python writes them, and how the walk ends.
  std::string ahead(Part part = Part::Item) {
    std::string text;
    for (int64_t i = 0; i < 100; ++i) {
      if (step(i) == Step::End) return text + "end";
      if (step(i) == Step::Unknown) return text + "unknown";
      Loaded item = itemAhead(named("walk"), i, part);
      Ref<> owned = item.isNew ? Ref<>::steal(item.object) : Ref<>::create(item.object);
      if (!owned) return text + "missing";
      Ref<> repr = Ref<>::steal(PyObject_Repr(owned.get()));
      text += PyUnicode_AsUTF8(repr.get()) + std::string(" ");
    }
    return text;
  }

  Ref<> names_ = Ref<>::steal(PyDict_New());
};

TEST_F(Iterators, SeeWhatALaterChangeBrings) {
  run("xs = [1, 2]; walk = iter(xs); next(walk)");
  EXPECT_EQ(ahead(), "2 end");
  run("xs.append(3)");
  EXPECT_EQ(ahead(), "2 3 end");
  run("xs.clear()");
  EXPECT_EQ(ahead(), "unknown");  // stands behind the end, but has not seen it
  run("assert next(walk, None) is None; xs.extend('abc')");
  EXPECT_EQ(ahead(), "end");
  EXPECT_EQ(iteratorField(named("walk"), IteratorField::Container).object, nullptr);
}

TEST_F(Iterators, GoBackwards) {
  run("xs = [1, 2, 3]; walk = reversed(xs); next(walk)");
  EXPECT_EQ(ahead(), "2 1 end");
  run("del xs[1:]");
  EXPECT_EQ(ahead(), "unknown");
  run("walk = reversed(('a', 'b')); next(walk)");
  EXPECT_EQ(ahead(), "'a' end");
}

TEST_F(Iterators, KnowNothingAfterADictHasChanged) {
  run("d = {'a': 1, 'b': 2, 'c': 3}; walk = iter(d.items()); next(walk)");
  EXPECT_EQ(ahead(), "'b' 'c' end");
  EXPECT_EQ(ahead(Part::Value), "2 3 end");
  run("d['b'] = 7");
  EXPECT_EQ(ahead(Part::Value), "7 3 end");
  run("d['d'] = 4");
  EXPECT_EQ(ahead(), "unknown");
  run("del d['a']");  // as many keys as before, but others
  EXPECT_EQ(ahead(), "'b' 'c' unknown");
}

TEST_F(Iterators, FindTheKeysOfAClass) {
  run(R"(
class Point:
    def __init__(self): self.x, self.y = 1, 2
walk = iter(Point().__dict__.items())
)");
  EXPECT_EQ(ahead(), "'x' 'y' end");
  run("walk = reversed(Point().__dict__.items())");
  EXPECT_EQ(ahead(Part::Value), "2 1 end");
}

TEST_F(Iterators, KnowNothingAfterASetHasChanged) {
  run("s = {1, 2, 3}; walk = iter(s); next(walk)");
  EXPECT_EQ(ahead(), "2 3 end");
  run("s.add(4)");
  EXPECT_EQ(ahead(), "unknown");
}

TEST_F(Iterators, RunNoCode) {
  run(R"(
class Evil(list):
    def __getitem__(self, index): raise AssertionError('asked')
    def __len__(self): raise AssertionError('asked')
class Reversible:
    def __getitem__(self, index): raise AssertionError('asked')
    def __len__(self): return 3
walk = iter(Evil([1, 2]))
)");
  EXPECT_EQ(ahead(), "1 2 end");
  run("walk = reversed(Reversible())");
  EXPECT_EQ(ahead(), "unknown");
  run("walk = (x for x in [1])");
  EXPECT_EQ(ahead(), "unknown");
  EXPECT_FALSE(canLookAhead(Py_TYPE(named("walk"))));
}

TEST_F(Iterators, GiveNumbers) {
  run("walk = iter(range(2**61, 2**62, 2**60)); next(walk)");
  EXPECT_EQ(ahead(), "3458764513820540928 end");
  run("walk = iter(range(0))");
  EXPECT_EQ(ahead(), "end");
  run("import itertools; walk = itertools.count(2**63 - 3)");
  EXPECT_EQ(ahead(), "9223372036854775805 9223372036854775806 unknown");
  run("walk = itertools.count('a' == 'b', 2); next(walk)");
  EXPECT_EQ(step(4000), Step::Item);
  EXPECT_EQ(step(1 << 20), Step::Unknown);
  run("walk = itertools.repeat(5, 2); next(walk)");
  EXPECT_EQ(ahead(), "5 end");
}

TEST_F(Iterators, CountAcrossTheLargestWord) {
  run("walk = enumerate('abc', 2**63 - 2)");
  ASSERT_TRUE(advance(named("walk"), 3));
  run("assert next(walk) == (2**63 + 1, 'a')");
  ASSERT_TRUE(advance(named("walk"), 1));
  run("assert next(walk) == (2**63 + 3, 'b')");
}

TEST_F(Iterators, AdvanceToTheirEnd) {
  run("xs = [1, 2]; walk = iter(xs)");
  ASSERT_TRUE(advance(named("walk"), 3));
  run("xs.append(3); assert next(walk, None) is None");
  run("import itertools; walk = itertools.chain('ab', 'cd'); next(walk); rest, none = iter('xy'), "
      "iter(())");
  setChain(named("walk"), named("none"), named("rest"));
  run("assert list(walk) == ['x', 'y']");
  setChain(named("walk"), nullptr, nullptr);
  EXPECT_EQ(iteratorField(named("walk"), IteratorField::Iterator).object, nullptr);
  run("assert list(walk) == []");
}

}  // namespace
}  // namespace armature::cpython
