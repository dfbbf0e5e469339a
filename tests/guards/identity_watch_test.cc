#include "guards/identity_watch.h"

#include <gtest/gtest.h>

#include <memory>

namespace armature {
namespace {

Ref<> evaluate(const char* expression) {
  Ref<> names = Ref<>::steal(PyDict_New());
  PyDict_SetItemString(names.get(), "__builtins__", PyEval_GetBuiltins());
  Ref<> value = Ref<>::steal(PyRun_String(expression, Py_eval_input, names.get(), names.get()));
  EXPECT_TRUE(value) << expression;
  return value;
}

TEST(IdentityWatch, ADeathInvalidatesForGood) {
  Ref<> object = evaluate("type('C', (), {})()");
  Ref<> other = evaluate("type('C', (), {})()");
  IdentityWatch watch;
  watch.watch(object);
  watch.watch(object);
  watch.watch(other);
  EXPECT_EQ(Py_REFCNT(object.get()), 1);
  EXPECT_TRUE(watch.valid());
  object = nullptr;
  EXPECT_FALSE(watch.valid());
  other = nullptr;
  EXPECT_FALSE(watch.valid());
}

TEST(IdentityWatch, HoldsStronglyWhatHasNoWeakReferences) {
  Ref<> number = evaluate("10 ** 30");
  Py_ssize_t before = Py_REFCNT(number.get());
  {
    IdentityWatch watch;
    watch.watch(number);
    EXPECT_EQ(Py_REFCNT(number.get()), before + 1);
  }
  EXPECT_EQ(Py_REFCNT(number.get()), before);
}

TEST(IdentityWatch, LetsTheImmortalAlone) {
  Py_ssize_t before = Py_REFCNT(Py_None);
  IdentityWatch watch;
  for (int i = 0; i < 10; ++i) watch.watch(Py_None);
  watch.watch(reinterpret_cast<PyObject*>(&PyLong_Type));
  EXPECT_EQ(Py_REFCNT(Py_None), before);
}

TEST(IdentityWatch, MayDieBeforeWhatItWatches) {
  Ref<> object = evaluate("type('C', (), {})()");
  auto watch = std::make_unique<IdentityWatch>();
  watch->watch(object);
  watch = nullptr;
  object = nullptr;  // nobody is called
}

// What dies in a cycle is announced before its memory is freed.
TEST(IdentityWatch, SeesDeathsInCycles) {
  Ref<> object = evaluate("(lambda c: setattr(c, 'self', c) or c)(type('C', (), {})())");
  IdentityWatch watch;
  watch.watch(object);
  object = nullptr;
  EXPECT_TRUE(watch.valid());
  PyGC_Collect();
  EXPECT_FALSE(watch.valid());
}

}  // namespace
}  // namespace armature
