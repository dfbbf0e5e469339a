#include "runtime/error_on_graph_break.h"

#include "core/describe.h"
#include "runtime/thread_state.h"
#include "variables/functions/builtin_handlers.h"
#include "variables/objects/context_manager.h"
#include "variables/protocol/object_protocol.h"
#include "variables/trailed.h"

namespace armature {

namespace {

PyObject* setter = nullptr;

// --- The functions, plainly and traced.

PyObject* isErrorNow(PyObject*, PyObject*) { return PyBool_FromLong(isErrorOnGraphBreak()); }

PyObject* setError(PyObject*, PyObject* value) {
  int isError = PyObject_IsTrue(value);
  if (isError < 0) return nullptr;
  setErrorOnGraphBreak(isError);
  Py_RETURN_NONE;
}

Value isErrorHandler(Translator& translator, const Value&, CallArguments& arguments) {
  if (!checkArgumentCount(translator, "is_error_on_graph_break", arguments, 0, 0)) return Value();
  translator.observeErrorOnGraphBreak();
  return Value::boolean(translator.errorOnGraphBreak());
}

Value setErrorHandler(Translator& translator, const Value&, CallArguments& arguments) {
  if (!checkArgumentCount(translator, "set_error_on_graph_break", arguments, 1, 1)) return Value();
  int isError = isTrue(translator, arguments.values[0]);
  if (isError < 0) return Value();
  translator.setErrorOnGraphBreak(isError);
  return Value::none();
}

// --- The class, whose instances keep what was before in the bits of an int: the last one lowest.

class ErrorOnGraphBreakModel : public ContextManagerModel {
 public:
  Value enter(Translator& translator, ContextManagerVariable& manager) const override {
    constexpr uint32_t kHighest = uint32_t{1} << 31;
    if (manager.previous & kHighest) {
      throw GraphBreak(GraphBreakKind::UnsupportedInstruction,
                       "BEFORE_WITH, 33 times inside itself");
    }
    uint32_t before = translator.errorOnGraphBreak();
    assignTrailed(translator.trail, manager.previous, manager.previous << 1 | before);
    translator.setErrorOnGraphBreak(manager.target);
    return Value::none();
  }
  Value exit(Translator& translator, ContextManagerVariable& manager) const override {
    translator.setErrorOnGraphBreak(manager.previous & 1);
    assignTrailed(translator.trail, manager.previous, manager.previous >> 1);
    return Value::none();
  }
  std::vector<std::pair<const char*, Value>> attributes(
      const ContextManagerVariable& manager) const override {
    return {{"_error", Value::boolean(manager.target)},
            {"_before", Value::integer(manager.previous)}};
  }
};

Value makeManager(Translator& translator, const Value& callable, CallArguments& arguments) {
  static const ErrorOnGraphBreakModel model;
  const Value* error = arguments.keyword("error_on_graph_break");
  if (!error && arguments.positionalCount() == 1) error = &arguments.values[0];
  if (!error || arguments.values.size() != 1) {
    return translator.raise(PyExc_TypeError, "error_on_graph_break() takes one argument");
  }
  int isError = isTrue(translator, *error);
  if (isError < 0) return Value();
  auto* type = reinterpret_cast<PyTypeObject*>(callable.tracker()->existing());
  return translator.make<ContextManagerVariable>(type, callable, model,
                                                 static_cast<uint32_t>(isError));
}

PyObject* modelErrorOnGraphBreak(PyObject*, PyObject* type) {
  constexpr std::string_view kName = "error_on_graph_break";
  auto* given = PyType_Check(type) ? reinterpret_cast<PyTypeObject*>(type) : Py_TYPE(type);
  if (given->tp_name != kName || !PyType_Check(type)) {
    return PyErr_Format(PyExc_TypeError, "expected the class error_on_graph_break, not '%.200s'",
                        given->tp_name);
  }
  Py_INCREF(type);  // the registry needs it to stay where it is
  registerObjectHandler(type, makeManager);
  Py_RETURN_NONE;
}

PyMethodDef methods[] = {
    {"is_error_on_graph_break", isErrorNow, METH_NOARGS,
     "is_error_on_graph_break()\n--\n\nWhether a graph break is an error in this thread."},
    {"set_error_on_graph_break", setError, METH_O,
     "set_error_on_graph_break(value, /)\n--\n\nMakes a graph break an error in this thread, or "
     "not."},
    {"model_error_on_graph_break", modelErrorOnGraphBreak, METH_O,
     "model_error_on_graph_break(type, /)\n--\n\nNames the class whose with statements set it, so "
     "that traces need not go into its methods."},
    {},
};

}  // namespace

PyObject* errorOnGraphBreakSetter() { return setter; }

int addErrorOnGraphBreak(PyObject* module) {
  if (PyModule_AddFunctions(module, methods) < 0) return -1;
  // The references are kept: the registry needs the objects to stay where they are.
  PyObject* getter = PyObject_GetAttrString(module, "is_error_on_graph_break");
  PyObject* own = PyObject_GetAttrString(module, "set_error_on_graph_break");
  if (!getter || !own) return -1;
  registerObjectHandler(getter, isErrorHandler);
  registerObjectHandler(own, setErrorHandler);
  setter = own;
  return 0;
}

}  // namespace armature
