// main() of the tests: runs them inside the interpreter of the project's environment.

#include <Python.h>

#include <gtest/gtest.h>

#include "python_location.h"

namespace {

void check(PyStatus status) {
  if (PyStatus_Exception(status)) {
    Py_ExitStatusException(status);
  }
}

void initializePython() {
  PyConfig config;
  PyConfig_InitPythonConfig(&config);
  config.install_signal_handlers = 0;
  // From where the interpreter is, CPython finds the standard library and site-packages.
  check(PyConfig_SetBytesString(&config, &config.program_name, ARMATURE_PYTHON_EXECUTABLE));
  check(Py_InitializeFromConfig(&config));
  PyConfig_Clear(&config);
}

}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  initializePython();
  int result = RUN_ALL_TESTS();
  return Py_FinalizeEx() < 0 ? 1 : result;
}
