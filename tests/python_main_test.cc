// The interpreter that tests run in is that of the project's environment.

#include <Python.h>

#include <filesystem>
#include <string>

#include <gtest/gtest.h>

#include "python_location.h"

namespace {

std::string evaluate(const char* expression) {
  std::string code = std::string("import sys; answer = str(") + expression + ")";
  if (PyRun_SimpleString(code.c_str()) != 0) {
    return "raised";
  }
  PyObject* main = PyImport_AddModule("__main__");
  PyObject* answer = PyObject_GetAttrString(main, "answer");
  std::string text = PyUnicode_AsUTF8(answer);
  Py_DECREF(answer);
  return text;
}

TEST(PythonMain, RunsTheProjectsInterpreter) {
  std::filesystem::path environment =
      std::filesystem::path(ARMATURE_PYTHON_EXECUTABLE).parent_path().parent_path();
  EXPECT_EQ(evaluate("sys.prefix"), environment);
  EXPECT_EQ(evaluate("'%d.%d' % sys.version_info[:2]"),
            std::to_string(PY_MAJOR_VERSION) + "." + std::to_string(PY_MINOR_VERSION));
}

TEST(PythonMain, HasTheStandardLibrary) { EXPECT_NE(evaluate("__import__('json')"), "raised"); }

}  // namespace
