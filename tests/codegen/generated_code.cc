#include "tests/codegen/generated_code.h"

#include "codegen/plain_function.h"
#include "guards/check_function_manager.h"

namespace armature {

namespace {

std::string reprOrError(Ref<> result) {
  Ref<> text;
  if (result) {
    text = Ref<>::steal(PyObject_Repr(result.get()));
    return text ? PyUnicode_AsUTF8(text.get()) : "<no repr>";
  }
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  PyErr_NormalizeException(&type, &value, &traceback);
  Ref<> ownedType = Ref<>::steal(type), ownedValue = Ref<>::steal(value);
  Ref<> ownedTraceback = Ref<>::steal(traceback);
  text = Ref<>::steal(PyObject_Str(value));
  return std::string(reinterpret_cast<PyTypeObject*>(type)->tp_name) + ": " +
         PyUnicode_AsUTF8(text.get());
}

std::string stateOf(const Trace& trace) {
  std::string text;
  for (const char* name : {"arguments", "state"})
    if (PyObject* object = trace.named(name)) text += "; " + reprOrError(Ref<>::create(object));
  return text;
}

struct PlainEntry {
  PlainCode code;
  Ref<> globals;
  bool movesInputs;
};

// The self is a capsule of the entry.
PyObject* callPlain(PyObject* self, PyObject* const* arguments, Py_ssize_t count) {
  auto* entry = static_cast<PlainEntry*>(PyCapsule_GetPointer(self, nullptr));
  Ref<> function = plainFunction(entry->code, entry->globals, arguments);
  if (!function) return nullptr;
  std::vector<PyObject*> all(arguments, arguments + count);
  if (entry->movesInputs) {
    all.push_back(Py_False);  // as good as anything that can be inverted
  }
  return PyObject_Vectorcall(function.get(), all.data(), all.size(), nullptr);
}

PyMethodDef plainMethod = {"plain",
                           reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(callPlain)),
                           METH_FASTCALL, nullptr};

}  // namespace

Ref<> PlainEnvironment::resumeFunction(const EntryPoint& entry, BorrowedRef<> globals, bool) {
  resumed.push_back(entry);
  PlainCode plain = plainCode(entry, nullptr);
  if (!plain.code) return nullptr;
  auto* made = new PlainEntry{std::move(plain), Ref<>::create(globals), entry.movesInputs};
  Ref<> self = Ref<>::steal(PyCapsule_New(made, nullptr, [](PyObject* capsule) {
    delete static_cast<PlainEntry*>(PyCapsule_GetPointer(capsule, nullptr));
  }));
  return self ? Ref<>::steal(PyCFunction_New(&plainMethod, self.get())) : nullptr;
}

GeneratedFunction::GeneratedFunction(const std::string& program) : trace_(program) {
  generated_ = PyCodegen(trace_.translator(), trace_.outcome(), environment_).generate();
}

std::string GeneratedFunction::text() const {
  return generated_.canonical ? toString(*generated_.canonical) : "";
}

std::string GeneratedFunction::call() {
  if (!generated_.code) return "no code: " + generated_.unsupported;
  Ref<> function = Ref<>::steal(
      PyFunction_New(reinterpret_cast<PyObject*>(generated_.code.get()), trace_.globals()));
  // The walk of the guards finds what the code takes beside the inputs.
  CheckFunctionManager guards(trace_.translator().sources, trace_.translator().takeGuards(),
                              generated_.captures, trace_.inputs());
  std::vector<PyObject*> arguments(trace_.inputObjects().size() + guards.captureCount() + 1);
  for (size_t i = 0; i < trace_.inputObjects().size(); ++i)
    arguments[i] = trace_.inputObjects()[i].get();
  if (!guards.check(trace_.inputs(), arguments.data() + trace_.inputObjects().size()))
    return "the guards do not hold for the traced call";
  return reprOrError(Ref<>::steal(
      PyObject_Vectorcall(function.get(), arguments.data(), arguments.size() - 1, nullptr)));
}

std::string difference(const std::string& program) {
  GeneratedFunction generated(program);
  Trace plain(program);
  std::string expected = plain.plain();
  expected += stateOf(plain);
  std::string found = generated.call();
  found += stateOf(generated.trace());
  if (expected == found) return "";
  return "plain:     " + expected + "\ngenerated: " + found + "\n" + generated.text();
}

}  // namespace armature
