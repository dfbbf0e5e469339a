#include "tests/variables/test_translator.h"

#include <cstdio>
#include <cstdlib>

#include "variables/constants/constant.h"
#include "variables/containers/dict.h"
#include "variables/containers/sequence.h"
#include "variables/containers/set.h"
#include "variables/functions/builtin_handlers.h"
#include "variables/objects/exception.h"
#include "variables/protocol/object_protocol.h"

namespace armature {

namespace {

[[noreturn]] void unsupported(const char* what) {
  throw GraphBreak(GraphBreakKind::UnsupportedOperation, what);
}

[[noreturn]] void die(const std::string& what) {
  std::fprintf(stderr, "%s\n", what.c_str());
  if (PyErr_Occurred()) PyErr_Print();
  std::abort();
}

PyObject* namespaceOfTests() {
  static PyObject* const globals = [] {
    PyObject* dict = PyDict_New();
    PyDict_SetItemString(dict, "__builtins__", PyEval_GetBuiltins());
    PyObject* module = PyImport_ImportModule("collections");
    PyDict_SetItemString(dict, "collections", module);
    return dict;
  }();
  return globals;
}

}  // namespace

TestTranslator::TestTranslator() { runHandlerRegistrations(); }

Value TestTranslator::traced(PyObject* object) {
  if (PyList_CheckExact(object) || (PyTuple_CheckExact(object) && !isConstant(object))) {
    ValueVector items;
    for (Py_ssize_t i = 0; i < Py_SIZE(object); ++i) {
      items.push_back(traced(PySequence_Fast_GET_ITEM(object, i)));
    }
    if (PyList_CheckExact(object)) return make<ListVariable>(std::move(items));
    return makeTuple(*this, std::move(items));
  }
  if (PyDict_CheckExact(object) || PyODict_CheckExact(object)) {
    auto* dict = make<DictVariable>(Py_TYPE(object));
    PyObject *key, *value;
    for (Py_ssize_t i = 0; PyDict_Next(object, &i, &key, &value);) {
      dict->set(*this, traced(key), traced(value));
    }
    return dict;
  }
  if (PyAnySet_CheckExact(object)) {
    // Through the constructor, as a traced program would make it, and as copy.deepcopy does.
    Ref<> items = Ref<>::steal(PySequence_List(object));
    return call(*this, Value::constant(reinterpret_cast<PyObject*>(Py_TYPE(object))),
                {traced(items.get())});
  }
  if (!isConstantObject(object)) die("not a constant: " + repr(object));
  return Value::constant(object);
}

Ref<> TestTranslator::real(const Value& value) {
  Value realizedValue = realized(value);
  if (PyObject* object = realizedValue.objectOrNull()) return Ref<>::create(object);
  if (auto* sequence = trackerOf<SequenceVariable>(realizedValue)) {
    Ref<> list = Ref<>::steal(PyList_New(0));
    for (const Value& item : sequence->items()) PyList_Append(list.get(), real(item).get());
    return llvm::isa<ListVariable>(sequence) ? list : Ref<>::steal(PyList_AsTuple(list.get()));
  }
  if (auto* dict = trackerOf<DictVariable>(realizedValue)) {
    Ref<> result = Ref<>::steal(
        PyObject_CallNoArgs(reinterpret_cast<PyObject*>(realizedValue.tracker()->type())));
    dict->forEach(*this, [&](const OrderedValueMap::Entry& entry) {
      PyObject_SetItem(result.get(), real(entry.key).get(), real(entry.value).get());
    });
    return result;
  }
  if (auto* set = trackerOf<SetVariable>(realizedValue)) {
    if (Ref<> result = set->real(*this)) return result;
    Ref<> result = Ref<>::steal(PySet_New(nullptr));
    set->forEach(*this, [&](const Value& item) { PySet_Add(result.get(), real(item).get()); });
    return result;
  }
  if (slotsOf(realizedValue).tp_iter) {
    // Views and iterators: the list of what they give.
    ValueVector items;
    if (!iterateInto(*this, realizedValue, items)) return nullptr;
    return real(make<ListVariable>(std::move(items)));
  }
  die("cannot rebuild " + describe(realizedValue));
}

Value TestTranslator::input(const char* name, PyObject* object) {
  Ref<> text = Ref<>::steal(PyUnicode_FromString(name));
  return wrap(sources->local(0, text), object);
}

std::string TestTranslator::takeError() {
  if (!exceptionPending()) return "";
  Value exception = takeException();
  std::string text = typeOf(exception)->tp_name;
  Value message = toStr(*this, exception);
  return text + ": " + PyUnicode_AsUTF8(message.object());
}

std::string TestTranslator::guardText() const {
  std::string text;
  for (const Guard& guard : guards()) {
    text += std::string(guardTypeName(guard.type)) + " " + guard.source->name();
    if (guard.operand && !PyType_Check(guard.operand.get()))
      text += " " + repr(guard.operand.get());
    text += "\n";
  }
  return text;
}

Value TestTranslator::callUserFunction(UserFunctionVariable*, CallArguments&) {
  unsupported("call of a Python function");
}
Value TestTranslator::resumeGenerator(GeneratorVariable*, const Value&, bool) {
  unsupported("generator");
}
Value TestTranslator::throwInto(GeneratorVariable*, llvm::ArrayRef<Value>, bool) {
  unsupported("generator");
}
bool TestTranslator::closeGenerator(GeneratorVariable*) { unsupported("generator"); }
Value TestTranslator::runningFirstArgument() { unsupported("super()"); }
NewCellVariable* TestTranslator::runningClassCell() { unsupported("super()"); }
bool TestTranslator::isHeldByFrames(const Value&) { return false; }
DictVariable* TestTranslator::runningGlobals() { unsupported("globals"); }

Ref<> evaluate(const std::string& expression) {
  PyObject* globals = namespaceOfTests();
  Ref<> result = Ref<>::steal(PyRun_String(expression.c_str(), Py_eval_input, globals, globals));
  if (!result) die("raised: " + expression);
  return result;
}

std::string repr(PyObject* object) {
  Ref<> text = Ref<>::steal(PyObject_Repr(object));
  if (!text) die("repr raised");
  return PyUnicode_AsUTF8(text.get());
}

}  // namespace armature
