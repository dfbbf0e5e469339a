#include "libraries/torch/grad_modes.h"

#include "variables/functions/builtin_handlers.h"
#include "variables/objects/context_manager.h"
#include "variables/protocol/object_protocol.h"

namespace armature {

namespace {

template <bool kTarget>
Value makeMode(Translator& translator, const Value& callable, CallArguments& arguments) {
  if (!arguments.values.empty()) {
    throw GraphBreak(GraphBreakKind::GradModeDecorator, describe(callable));
  }
  return translator.make<ContextManagerVariable>(typeOf(callable), callable, kTarget, false);
}

// set_grad_enabled(mode) sets the mode when it is called; as a context manager it puts the old one
// back at the end.
Value makeSetGradEnabled(Translator& translator, const Value& callable, CallArguments& arguments) {
  const Value* mode = arguments.keyword("mode");
  if (!mode && arguments.positionalCount() == 1) mode = &arguments.values[0];
  if (!mode || arguments.values.size() != 1) {
    return translator.raise(PyExc_TypeError, "set_grad_enabled() takes one argument: mode");
  }
  int target = isTrue(translator, *mode);
  if (target < 0) return Value();
  auto* manager =
      translator.make<ContextManagerVariable>(typeOf(callable), callable, target != 0, true);
  manager->enter(translator);
  return manager;
}

// The mode is the trace's: what the graph has set so far, not what is set while tracing.
Value isGradEnabled(Translator& translator, const Value&, CallArguments& arguments) {
  if (!checkArgumentCount(translator, "is_grad_enabled", arguments, 0, 0)) return Value();
  translator.guardGlobalState();
  return Value::boolean(translator.gradEnabled());
}

}  // namespace

void registerGradModes() {
  PyObject* torch = PyDict_GetItemString(PyImport_GetModuleDict(), "torch");
  auto add = [&](const char* name, BuiltinHandler handler) {
    PyObject* type = PyObject_GetAttrString(torch, name);
    if (type) registerObjectHandler(type, handler);
    PyErr_Clear();
  };
  add("no_grad", makeMode<false>);
  add("enable_grad", makeMode<true>);
  add("set_grad_enabled", makeSetGradEnabled);
  add("is_grad_enabled", isGradEnabled);
}

}  // namespace armature
