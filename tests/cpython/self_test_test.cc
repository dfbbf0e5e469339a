#include "cpython/self_test.h"

#include <gtest/gtest.h>

#include <string>

#include "cpython/thread_state.h"

namespace armature::cpython {
namespace {

// The text of the pending exception, which must be an ImportError; takes it.
std::string takeImportError() {
  EXPECT_TRUE(PyErr_ExceptionMatches(PyExc_ImportError));
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  Ref<> text = Ref<>::steal(PyObject_Str(value));
  Py_XDECREF(type);
  Py_XDECREF(value);
  Py_XDECREF(traceback);
  return text ? PyUnicode_AsUTF8(text.get()) : "";
}

TEST(SelfTest, HoldsInThisInterpreter) {
  EXPECT_EQ(verifyInterpreter(), 0);
  EXPECT_FALSE(PyErr_Occurred());
}

TEST(SelfTest, NamesEachAssumptionThatFails) {
  EXPECT_GE(assumptions().size(), 15u);
  for (const Assumption& assumption : assumptions()) {
    EXPECT_EQ(verifyInterpreter(assumption.name), -1) << assumption.name;
    std::string message = takeImportError();
    EXPECT_NE(message.find(assumption.statement), std::string::npos) << message;
    EXPECT_NE(message.find("CPython 3."), std::string::npos) << message;
  }
}

TEST(SelfTest, LeavesNoObjectAlive) {
  Ref<> collect = Ref<>::steal(PyImport_ImportModule("gc"));
  auto count = [&] {
    Py_XDECREF(PyObject_CallMethod(collect.get(), "collect", nullptr));
    Ref<> objects = Ref<>::steal(PyObject_CallMethod(collect.get(), "get_objects", nullptr));
    return PyList_GET_SIZE(objects.get());
  };
  verifyInterpreter();
  Py_ssize_t before = count();
  for (int i = 0; i < 10; ++i) verifyInterpreter();
  EXPECT_LE(count(), before);
}

int ignore(PyObject*, PyFrameObject*, int, PyObject*) { return 0; }

TEST(ThreadState, KnowsWhetherTheThreadIsTraced) {
  EXPECT_FALSE(isTraced());
  PyEval_SetTrace(ignore, nullptr);
  EXPECT_TRUE(isTraced());
  PyEval_SetTrace(nullptr, nullptr);
  PyEval_SetProfile(ignore, nullptr);
  EXPECT_TRUE(isTraced());
  PyEval_SetProfile(nullptr, nullptr);
  EXPECT_FALSE(isTraced());
}

}  // namespace
}  // namespace armature::cpython
