// Embeds Python, captures a function, prints what was captured, and calls it.
//
//   bazel run //examples/embedding

#include <Python.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "armature/engine.h"
#include "python_location.h"

using armature::api::Engine;
using armature::api::Object;
using armature::api::Outcome;

namespace {

constexpr const char* kProgram = R"(
import torch

weight = torch.tensor([[1.0, -1.0], [0.5, 2.0]])
calls = []

def layer(x, scale=2.0):
    calls.append('layer')
    y = torch.relu(x @ weight) * scale
    return y - y.mean()

arguments = (torch.eye(2),)
expected = layer(*arguments)
same = torch.equal
)";

[[noreturn]] void fail(const std::string& why) {
  if (PyErr_Occurred()) PyErr_Print();
  std::fprintf(stderr, "%s\n", why.c_str());
  std::exit(1);
}

// A virtual environment's interpreter tells Python where its packages are.
void startPython() {
  PyConfig config;
  PyConfig_InitPythonConfig(&config);
  PyConfig_SetBytesString(&config, &config.program_name, ARMATURE_PYTHON_EXECUTABLE);
  PyStatus status = Py_InitializeFromConfig(&config);
  PyConfig_Clear(&config);
  if (PyStatus_Exception(status)) Py_ExitStatusException(status);
}

void print(const char* title, const std::string& text) {
  std::printf("--- %s\n%s\n", title, text.c_str());
}

void print(const Outcome& outcome) {
  print("graph", outcome.graph.text());
  std::string guards;
  for (const std::string& guard : outcome.guards.texts()) guards += guard + "\n";
  print("guards", guards);
  print("bytecode", outcome.bytecode);
  std::printf("%llu instructions in %.1f ms\n", outcome.instructions, outcome.seconds * 1e3);
}

void run() {
  Object names = Object::steal(PyDict_New());
  PyDict_SetItemString(names.get(), "__builtins__", PyEval_GetBuiltins());
  Object done = Object::steal(PyRun_String(kProgram, Py_file_input, names.get(), names.get()));
  if (!done) fail("the program raised");
  auto named = [&](const char* name) { return PyDict_GetItemString(names.get(), name); };

  auto engine = Engine::create();
  if (!engine) fail(engine.error().message);
  auto compiled = engine->compile(named("layer"));
  if (!compiled) fail(compiled.error().message);

  // Capturing runs nothing of the program.
  auto outcome = engine->capture(compiled->get(), named("arguments"));
  if (!outcome) fail(outcome.error().message);
  if (outcome->kind != Outcome::Kind::Whole) fail("the whole function should be one graph");
  if (PyList_GET_SIZE(named("calls")) != 1) fail("a capture has no effects");
  print(*outcome);

  Object result = Object::steal(PyObject_Call(compiled->get(), named("arguments"), nullptr));
  if (!result) fail("the call raised");
  if (PyList_GET_SIZE(named("calls")) != 2) fail("the call has the function's effects");
  Object same = Object::steal(
      PyObject_CallFunctionObjArgs(named("same"), result.get(), named("expected"), nullptr));
  if (same.get() != Py_True) fail("the call should return what plain Python returns");
  Object text = Object::steal(PyObject_Str(result.get()));
  print("result", PyUnicode_AsUTF8(text.get()));
}

}  // namespace

int main() {
  startPython();
  run();  // Everything of Python's is dropped before Python ends.
  return Py_FinalizeEx() < 0 ? 1 : 0;
}
