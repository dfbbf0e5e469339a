// What the program can ask and set about the interpreter and the running thread.
#include "core/checked.h"
#include "cpython/imported_modules.h"
#include "variables/functions/builtin_handlers.h"
#include "variables/protocol/object_protocol.h"

namespace armature {

namespace {

// A field of the module sys, as guards and generated code read it.
PyObject* recursionLimitField() {
  static PyGetSetDef definition = {
      "recursionlimit", [](PyObject*, void*) { return PyLong_FromLong(Py_GetRecursionLimit()); },
      nullptr, nullptr, nullptr};
  static PyObject* const field = checked(PyDescr_NewGetSet(&PyModule_Type, &definition)).release();
  return field;
}

Value getRecursionLimit(Translator& translator, const Value&, CallArguments& arguments) {
  if (!checkArgumentCount(translator, "sys.getrecursionlimit", arguments, 0, 0)) return Value();
  SourceTable& sources = *translator.sources;
  Ref<> module = checked(cpython::importModule("sys"));
  const Source* source =
      sources.item(SourceKind::Descriptor, sources.constant(module), recursionLimitField());
  return translator.wrap(source, checked(PyLong_FromLong(Py_GetRecursionLimit())));
}

// The number of the running thread, as a field of the function that tells it.
PyObject* threadField() {
  static PyGetSetDef definition = {
      "thread",
      [](PyObject*, void*) { return PyLong_FromUnsignedLong(PyThread_get_thread_ident()); },
      nullptr, nullptr, nullptr};
  static PyObject* const field =
      checked(PyDescr_NewGetSet(&PyCFunction_Type, &definition)).release();
  return field;
}

Value getIdent(Translator& translator, const Value&, CallArguments& arguments) {
  if (!checkArgumentCount(translator, "_thread.get_ident", arguments, 0, 0)) return Value();
  SourceTable& sources = *translator.sources;
  static PyObject* const function =
      checked(PyObject_GetAttrString(checked(cpython::importModule("_thread")).get(), "get_ident"))
          .release();
  const Source* source =
      sources.item(SourceKind::Descriptor, sources.constant(function), threadField());
  return translator.wrap(source, checked(PyLong_FromUnsignedLong(PyThread_get_thread_ident())));
}

// The one str of that text that the interpreter keeps.
Value intern(Translator& translator, const Value&, CallArguments& arguments) {
  if (!checkArgumentCount(translator, "sys.intern", arguments, 1, 1)) return Value();
  Value text = translator.realized(arguments.values[0]);
  PyObject* object = text.objectOrNull();
  if (!object || !PyUnicode_CheckExact(object)) {
    throw GraphBreak(GraphBreakKind::UnknownCFunction, "sys.intern of " + describe(text));
  }
  Py_INCREF(object);
  PyUnicode_InternInPlace(&object);
  return Value::steal(object);
}

void registerAll() {
  registerFunctionHandler("sys", "getrecursionlimit", getRecursionLimit);
  registerFunctionHandler("sys", "intern", intern);
  registerFunctionHandler("_thread", "get_ident", getIdent);
}

}  // namespace

ARMATURE_REGISTER_HANDLERS(registerAll);

}  // namespace armature
