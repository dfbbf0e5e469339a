#include "tests/interpreter/trace.h"

#include <gtest/gtest.h>

#include "core/describe.h"

namespace armature {

namespace {

// A module of its own, as its functions' globals.
Ref<> run(const std::string& program) {
  Ref<> globals = Ref<>::steal(PyDict_New());
  Ref<> name = Ref<>::steal(PyUnicode_FromString("program"));
  PyDict_SetItemString(globals.get(), "__builtins__", PyEval_GetBuiltins());
  PyDict_SetItemString(globals.get(), "__name__", name.get());
  Ref<> done =
      Ref<>::steal(PyRun_String(program.c_str(), Py_file_input, globals.get(), globals.get()));
  if (!done) PyErr_Print();
  EXPECT_TRUE(done);
  return globals;
}

// Parameters and closure, as a call binds them.
EntryPoint startOf(CodePtr code) {
  EntryPoint entry;
  for (int32_t i = 0; i < static_cast<int32_t>(code->locals.size()); ++i) {
    bool isFree = code->locals[i].kind == LocalKind::Free;
    if (i >= code->boundCount() && !isFree) continue;
    entry.locals.push_back(i);
    entry.localIsCell.push_back(isFree);
  }
  entry.code = std::move(code);
  return entry;
}

std::string reprOf(PyObject* object) {
  Ref<> text = Ref<>::steal(PyObject_Repr(object));
  return text ? PyUnicode_AsUTF8(text.get()) : "<no repr>";
}

}  // namespace

Trace::Trace(const std::string& program) : globals_(run(program)) {
  PyObject* function = named("f");
  entry_ = startOf(lift(reinterpret_cast<PyCodeObject*>(PyFunction_GET_CODE(function))));
  PyObject* arguments = named("arguments");
  for (Py_ssize_t i = 0; arguments && i < PyTuple_GET_SIZE(arguments); ++i)
    owned_.push_back(Ref<>::create(PyTuple_GET_ITEM(arguments, i)));
  PyObject* closure = PyFunction_GET_CLOSURE(function);
  for (Py_ssize_t i = 0; closure && i < PyTuple_GET_SIZE(closure); ++i)
    owned_.push_back(Ref<>::create(PyTuple_GET_ITEM(closure, i)));
  translate();
}

Trace::Trace(const EntryPoint& entry, BorrowedRef<> globals, std::vector<Ref<>> inputs)
    : globals_(Ref<>::create(globals)), entry_(entry), owned_(std::move(inputs)) {
  translate();
}

void Trace::translate() {
  ASSERT_EQ(owned_.size(), entry_.inputCount());
  isCell_ = std::make_unique<bool[]>(owned_.size() + 1);
  for (const Ref<>& object : owned_) slots_.push_back(object.get());
  for (size_t i = 0; i < entry_.locals.size(); ++i)
    isCell_[owned_.size() - entry_.locals.size() + i] = entry_.localIsCell[i];
  translator_ = std::make_unique<InstructionTranslator>(entry_, globals_, inputs());
  outcome_ = translator_->translate();
  EXPECT_FALSE(PyErr_Occurred());
}

FrameLocalsMapping Trace::inputs() const { return {slots_.data(), isCell_.get(), slots_.size()}; }

std::string Trace::plain() const {
  PyObject* arguments = named("arguments");
  Ref<> none = Ref<>::steal(PyTuple_New(0));
  Ref<> result = Ref<>::steal(PyObject_CallObject(named("f"), arguments ? arguments : none.get()));
  if (result) return reprOf(result.get());
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  PyErr_NormalizeException(&type, &value, &traceback);
  Ref<> ownedType = Ref<>::steal(type), ownedValue = Ref<>::steal(value);
  Ref<> ownedTraceback = Ref<>::steal(traceback), text = Ref<>::steal(PyObject_Str(value));
  return std::string(reinterpret_cast<PyTypeObject*>(type)->tp_name) + ": " +
         PyUnicode_AsUTF8(text.get());
}

std::string Trace::text(const Value& value) {
  if (!value) return "";
  PyObject* object = value.isTracker() ? value.tracker()->existing() : value.objectOrNull();
  if (!object) return "<" + typeName(value.tracker()->type()) + " variable>";
  return reprOf(object);
}

std::string Trace::local(const FrameState& frame, const char* name) {
  for (size_t i = 0; i < frame.code->locals.size(); ++i)
    if (PyUnicode_CompareWithASCIIString(frame.code->locals[i].name.get(), name) == 0)
      return text(frame.locals[i]);
  return "<no such local>";
}

}  // namespace armature
