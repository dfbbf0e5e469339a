#include "runtime/own_functions.h"

#include "core/describe.h"
#include "core/graph_break.h"
#include "core/text.h"
#include "cpython/c_functions.h"
#include "cpython/imported_modules.h"
#include "cpython/type_lookup.h"
#include "runtime/compiled_callable.h"
#include "runtime/compiled_function.h"
#include "runtime/error_on_graph_break.h"
#include "runtime/thread_state.h"
#include "variables/functions/builtin_handlers.h"
#include "variables/protocol/object_protocol.h"

namespace armature {

namespace {

Value isCompilingHandler(Translator& translator, const Value&, CallArguments& arguments) {
  if (!checkArgumentCount(translator, "is_compiling", arguments, 0, 0)) return Value();
  return translator.isCompiling();
}

// What the program says with a call that ends the graph; "" if it says nothing.
std::string messageOf(const CallArguments& arguments) {
  const Value* message = arguments.keyword("msg");
  if (!message && arguments.positionalCount() > 0) message = &arguments.values[0];
  bool isText = message && message->isConstant() && PyUnicode_CheckExact(message->object());
  return isText ? printable(message->object()) : "";
}

Value graphBreakHandler(Translator&, const Value&, CallArguments& arguments) {
  throw GraphBreak(GraphBreakKind::GraphBreakCall, messageOf(arguments));
}

Value skipFrameHandler(Translator&, const Value&, CallArguments& arguments) {
  throw GraphBreak(GraphBreakKind::SkipFrameCall, messageOf(arguments));
}

[[noreturn]] void breakOnDisabled(BorrowedRef<> disabled, BorrowedRef<> callable) {
  std::string explanation;
  PyObject* reason = reasonOfDisabled(disabled);
  if (reason && PyUnicode_CheckExact(reason)) {
    explanation = std::string(entryOf(GraphBreakKind::DisabledFunction).explanation) +
                  " Reason: " + printable(reason);
  }
  throw GraphBreak(GraphBreakKind::DisabledFunction, describe(callable), std::move(explanation));
}

// A compiled function is traced as the function that it stands for: `fn` in compile(fn). Which
// object it is makes no difference, so that a nested function which is compiled anew in each call
// finds what was traced for the one before.
Value callCompiledFunction(Translator& translator, const Value& self, CallArguments& arguments) {
  const VariableTracker* tracker = self.tracker();
  PyObject* object = tracker->existing();
  const Source* source = tracker->source();
  PyObject* member = cpython::ownAttribute(tracker->type(), "function");
  const Source* inner =
      source ? translator.sources->item(SourceKind::Slot, source, member) : nullptr;
  return call(translator, translator.wrap(inner, wrappedFunction(object)), arguments);
}

// The DisabledFunction that a CompiledCallable has called; null if it is not disabled.
PyObject* disabledCall(BorrowedRef<> compiledCallable) {
  PyObject *function, *call;
  Py_ssize_t position = 0;
  bool isDisabled = PyDict_Next(callsOf(compiledCallable), &position, &function, &call) &&
                    Py_TYPE(call) == &DisabledFunctionType;
  return isDisabled ? call : nullptr;
}

// And what stands for a module or another callable object, as that object.
Value callCompiledCallable(Translator& translator, const Value& self, CallArguments& arguments) {
  const VariableTracker* tracker = self.tracker();
  PyObject* object = tracker->existing();
  const Source* source = tracker->source();
  if (PyObject* disabled = disabledCall(object)) breakOnDisabled(disabled, originalOf(object));
  if (source) translator.addGuard(source, GuardType::ID_MATCH, object);
  PyObject* member = cpython::ownAttribute(tracker->type(), "_orig_mod");
  const Source* inner =
      source ? translator.sources->item(SourceKind::Slot, source, member) : nullptr;
  return call(translator, translator.wrap(inner, originalOf(object)), arguments);
}

Value callDisabledFunction(Translator&, const Value& self, CallArguments&) {
  PyObject* disabled = self.tracker()->existing();
  breakOnDisabled(disabled, wrappedFunction(disabled));
}

// __set_name__: does nothing, but for the names of which type.__new__ makes other methods.
Value setNameHandler(Translator&, const Value&, CallArguments& arguments) {
  const Value* name = arguments.positionalCount() == 2 ? &arguments.values[1] : nullptr;
  bool isText = name && name->isConstant() && PyUnicode_CheckExact(name->object());
  if (!isText || isMadeAMethodByType(name->object())) {
    throw GraphBreak(GraphBreakKind::ClassMadeWhileTracing,
                     isText ? printable(name->object()) : "__set_name__");
  }
  return Value::none();
}

PyObject* isCompilingNow(PyObject*, PyObject*) { return PyBool_FromLong(isCompiling()); }

PyObject* graphBreak(PyObject*, PyObject* arguments, PyObject* keywords) {
  static const char* names[] = {"msg", nullptr};
  PyObject* message;
  if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "|O:graph_break", const_cast<char**>(names),
                                   &message)) {
    return nullptr;
  }
  Py_RETURN_NONE;
}

// As a decorator: disable(function, recursive=False).
PyObject* skipFrame(PyObject*, PyObject* arguments, PyObject* keywords) {
  static const char* names[] = {"msg", nullptr};
  PyObject* message = nullptr;
  if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "|O:skip_frame", const_cast<char**>(names),
                                   &message)) {
    return nullptr;
  }
  if (!message || PyUnicode_Check(message)) Py_RETURN_NONE;
  Ref<> package = Ref<>::steal(cpython::importModule("armature"));
  Ref<> disable =
      package ? Ref<>::steal(PyObject_GetAttrString(package.get(), "disable")) : Ref<>();
  return disable ? PyObject_CallFunctionObjArgs(disable.get(), message, Py_False, nullptr)
                 : nullptr;
}

PyMethodDef methods[] = {
    {"is_compiling", isCompilingNow, METH_NOARGS,
     "is_compiling()\n--\n\n"
     "True in code that is being captured, and False in code that Python runs as it is."},
    {"graph_break", cpython::asMethod(graphBreak), METH_VARARGS | METH_KEYWORDS,
     "graph_break(msg='')\n--\n\n"
     "Ends the graph in code that is being captured; elsewhere does nothing. `explain` and the "
     "logs "
     "tell the message."},
    {"skip_frame", cpython::asMethod(skipFrame), METH_VARARGS | METH_KEYWORDS,
     "skip_frame(msg='')\n--\n\n"
     "Leaves the function that calls it to Python, from its beginning or from its last graph break "
     "on; what it calls is captured. In code that is not being captured, does nothing.\n\n"
     "@skip_frame is disable(recursive=False)."},
    {},
};

}  // namespace

int addOwnFunctions(PyObject* module) {
  if (PyModule_AddFunctions(module, methods) < 0) return -1;
  registerInstanceHandler(&CompiledFunctionType, callCompiledFunction);
  registerInstanceHandler(&CompiledCallableType, callCompiledCallable);
  registerInstanceHandler(&CompiledDescriptorType, callCompiledCallable);
  registerInstanceHandler(&DisabledFunctionType, callDisabledFunction);
  registerMethodHandler(&CompiledFunctionType, "__set_name__", setNameHandler);
  registerMethodHandler(&DisabledFunctionType, "__set_name__", setNameHandler);
  auto add = [&](const char* name, BuiltinHandler handler) {
    PyObject* function = PyObject_GetAttrString(module, name);
    // The reference is kept: the registry needs the object to stay where it is.
    if (function) registerObjectHandler(function, handler);
    return function != nullptr;
  };
  bool added = add("is_compiling", isCompilingHandler) && add("graph_break", graphBreakHandler) &&
               add("skip_frame", skipFrameHandler);
  return added ? addErrorOnGraphBreak(module) : -1;
}

}  // namespace armature
