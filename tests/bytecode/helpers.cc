#include "tests/bytecode/helpers.h"

#include <gtest/gtest.h>

namespace armature::testing {
namespace {

void expectNoError(const char* what) {
  if (!PyErr_Occurred()) return;
  PyErr_Print();
  ADD_FAILURE() << what << " raised";
}

Ref<> newGlobals() {
  auto globals = Ref<>::steal(PyDict_New());
  PyDict_SetItemString(globals.get(), "__builtins__", PyEval_GetBuiltins());
  return globals;
}

}  // namespace

Ref<> string(const char* text) { return Ref<>::steal(PyUnicode_FromString(text)); }

Ref<> evaluate(const std::string& expression) {
  const Ref<> globals = newGlobals();
  auto result =
      Ref<>::steal(PyRun_String(expression.c_str(), Py_eval_input, globals.get(), globals.get()));
  expectNoError(expression.c_str());
  return result;
}

Ref<PyCodeObject> codeOf(const std::string& source) {
  const Ref<> globals = newGlobals();
  const auto result =
      Ref<>::steal(PyRun_String(source.c_str(), Py_file_input, globals.get(), globals.get()));
  expectNoError("the source");
  PyObject* function = PyDict_GetItemString(globals.get(), "f");
  if (function == nullptr) return nullptr;
  return Ref<PyCodeObject>::create(reinterpret_cast<PyCodeObject*>(PyFunction_GetCode(function)));
}

CodePtr lifted(const std::string& source) {
  CodePtr code = lift(codeOf(source));
  expectNoError("lift");
  return code;
}

Ref<> call(BorrowedRef<PyCodeObject> code, std::vector<Ref<>> arguments) {
  if (!code) return nullptr;
  const Ref<> globals = newGlobals();
  const auto function =
      Ref<>::steal(PyFunction_New(reinterpret_cast<PyObject*>(code.get()), globals.get()));
  std::vector<PyObject*> raw;
  for (const Ref<>& argument : arguments) raw.push_back(argument.get());
  auto result = Ref<>::steal(PyObject_Vectorcall(function.get(), raw.data(), raw.size(), nullptr));
  expectNoError("the call");
  return result;
}

Ref<PyCodeObject> lowered(const Code& code) {
  Ref<PyCodeObject> result = lower(code);
  expectNoError("lower");
  return result;
}

std::string lowerError(const Code& code) {
  if (lower(code)) return "";
  EXPECT_TRUE(PyErr_ExceptionMatches(PyExc_ValueError));
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  const Ref<> owned[] = {Ref<>::steal(type), Ref<>::steal(value), Ref<>::steal(traceback)};
  const auto message = Ref<>::steal(PyObject_Str(value));
  return PyUnicode_AsUTF8(message.get());
}

std::string text(BorrowedRef<> object) {
  if (!object) return "null";
  const auto repr = Ref<>::steal(PyObject_Repr(object.get()));
  return PyUnicode_AsUTF8(repr.get());
}

std::string bytes(BorrowedRef<> object) {
  return {PyBytes_AS_STRING(object.get()), static_cast<size_t>(PyBytes_GET_SIZE(object.get()))};
}

Code makeCode(std::vector<Instruction> instructions, std::vector<const char*> locals) {
  Code code;
  code.positions.resize(instructions.size());
  code.instructions = std::move(instructions);
  for (const char* local : locals) code.locals.push_back({string(local), LocalKind::Local});
  code.name = code.qualifiedName = code.filename = string("made");
  code.constants.push_back(Ref<>::create(Py_None));
  code.names.push_back(string("name"));
  code.flags = CO_OPTIMIZED | CO_NEWLOCALS;
  code.firstLine = 1;
  code.indexRegions();
  return code;
}

}  // namespace armature::testing
