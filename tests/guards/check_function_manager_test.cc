#include "guards/check_function_manager.h"

#include <gtest/gtest.h>

namespace armature {
namespace {

constexpr int depth = 100'000;

// [[[…[innermost]…]]]
Ref<> nest(PyObject* innermost) {
  Ref<> object = Ref<>::create(innermost);
  for (int i = 0; i < depth; ++i) {
    Ref<> list = Ref<>::steal(PyList_New(1));
    PyList_SET_ITEM(list.get(), 0, Py_NewRef(object.get()));
    object = std::move(list);
  }
  return object;
}

bool check(CheckFunctionManager& manager, const Ref<>& argument) {
  PyObject* slots[] = {argument.get()};
  bool isCell[] = {false};
  PyObject* captures[1];
  return manager.check({slots, isCell, 1}, captures);
}

TEST(CheckFunctionManagerTest, APathMayBeLongerThanTheStackIsDeep) {
  auto sources = std::make_shared<SourceTable>();
  Ref<> name = Ref<>::steal(PyUnicode_FromString("x"));
  const Source* source = sources->local(0, name);
  std::vector<Guard> guards;
  for (int i = 0; i < depth; ++i) {
    Guard& guard = guards.emplace_back();
    guard.source = source;
    guard.type = GuardType::TYPE_MATCH;
    guard.operand = Ref<>::create(reinterpret_cast<PyObject*>(&PyList_Type));
    source = sources->item(SourceKind::ListItem, source, 0);
  }
  Guard& last = guards.emplace_back();
  last.source = source;
  last.type = GuardType::NONE_MATCH;

  Ref<> example = nest(Py_None);
  PyObject* slots[] = {example.get()};
  bool isCell[] = {false};
  CheckFunctionManager manager(sources, std::move(guards), {source}, {slots, isCell, 1});
  EXPECT_TRUE(check(manager, example));
  EXPECT_TRUE(check(manager, nest(Py_None)));
  Ref<> other = nest(Py_True);
  EXPECT_FALSE(check(manager, other));
  slots[0] = other.get();
  GuardFailure failure;
  EXPECT_FALSE(manager.checkVerbose({slots, isCell, 1}, failure));
  EXPECT_EQ(failure.text.size(), std::string("L['x'] is None").size() + 3 * depth);
  EXPECT_EQ(failure.actual, "True");
}

}  // namespace
}  // namespace armature
