#include "runtime/own_functions.h"

#include "core/describe.h"
#include "core/graph_break.h"
#include "core/text.h"
#include "cpython/type_lookup.h"
#include "runtime/compiled_callable.h"
#include "runtime/compiled_function.h"
#include "runtime/thread_state.h"
#include "variables/functions/builtin_handlers.h"
#include "variables/protocol/object_protocol.h"

namespace armature {

namespace {

Value isCompilingHandler(Translator& translator, const Value&, CallArguments& arguments) {
  if (!checkArgumentCount(translator, "is_compiling", arguments, 0, 0)) return Value();
  return Value::boolean(true);
}

Value graphBreakHandler(Translator&, const Value&, CallArguments&) {
  throw GraphBreak(GraphBreakKind::GraphBreakCall);
}

[[noreturn]] void breakOnDisabled(BorrowedRef<> callable) {
  throw GraphBreak(GraphBreakKind::DisabledFunction, describe(callable));
}

// A compiled function is traced as the function that it stands for: `fn` in compile(fn).
Value callCompiledFunction(Translator& translator, const Value& self, CallArguments& arguments) {
  const VariableTracker* tracker = self.tracker();
  PyObject* object = tracker->existing();
  const Source* source = tracker->source();
  // The function that it stands for never changes.
  if (source) translator.addGuard(source, GuardType::ID_MATCH, object);
  PyObject* member = cpython::ownAttribute(tracker->type(), "function");
  const Source* inner =
      source ? translator.sources->item(SourceKind::Slot, source, member) : nullptr;
  return call(translator, translator.wrap(inner, wrappedFunction(object)), arguments);
}

bool isDisabled(BorrowedRef<> compiledCallable) {
  PyObject *function, *call;
  Py_ssize_t position = 0;
  return PyDict_Next(callsOf(compiledCallable), &position, &function, &call) &&
         Py_TYPE(call) == &DisabledFunctionType;
}

// And what stands for a module or another callable object, as that object.
Value callCompiledCallable(Translator& translator, const Value& self, CallArguments& arguments) {
  const VariableTracker* tracker = self.tracker();
  PyObject* object = tracker->existing();
  const Source* source = tracker->source();
  if (isDisabled(object)) breakOnDisabled(originalOf(object));
  if (source) translator.addGuard(source, GuardType::ID_MATCH, object);
  PyObject* member = cpython::ownAttribute(tracker->type(), "_orig_mod");
  const Source* inner =
      source ? translator.sources->item(SourceKind::Slot, source, member) : nullptr;
  return call(translator, translator.wrap(inner, originalOf(object)), arguments);
}

Value callDisabledFunction(Translator&, const Value& self, CallArguments&) {
  breakOnDisabled(wrappedFunction(self.tracker()->existing()));
}

PyObject* isCompilingNow(PyObject*, PyObject*) { return PyBool_FromLong(isCompiling()); }
PyObject* graphBreak(PyObject*, PyObject*) { Py_RETURN_NONE; }

PyMethodDef methods[] = {
    {"is_compiling", isCompilingNow, METH_NOARGS,
     "is_compiling()\n--\n\n"
     "True in code that is being captured, and False in code that Python runs as it is."},
    {"graph_break", graphBreak, METH_NOARGS,
     "graph_break()\n--\n\n"
     "Ends the graph in code that is being captured; elsewhere does nothing."},
    {},
};

}  // namespace

int addOwnFunctions(PyObject* module) {
  if (PyModule_AddFunctions(module, methods) < 0) return -1;
  registerInstanceHandler(&CompiledFunctionType, callCompiledFunction);
  registerInstanceHandler(&CompiledCallableType, callCompiledCallable);
  registerInstanceHandler(&DisabledFunctionType, callDisabledFunction);
  auto add = [&](const char* name, BuiltinHandler handler) {
    PyObject* function = PyObject_GetAttrString(module, name);
    // The reference is kept: the registry needs the object to stay where it is.
    if (function) registerObjectHandler(function, handler);
    return function != nullptr;
  };
  bool added = add("is_compiling", isCompilingHandler) && add("graph_break", graphBreakHandler);
  return added ? 0 : -1;
}

}  // namespace armature
