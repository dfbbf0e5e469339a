#include "libraries/torch/grad_modes.h"

#include "core/checked.h"
#include "cpython/imported_modules.h"
#include "graph/eager_code.h"
#include "libraries/torch/own_methods.h"
#include "libraries/torch/regions.h"
#include "variables/functions/builtin_handlers.h"
#include "variables/objects/context_manager.h"
#include "variables/operation_modes.h"
#include "variables/protocol/object_protocol.h"
#include "variables/trailed.h"
#include "variables/type_slots.h"

namespace armature {

namespace {

const Library& torchLibrary() { return *findLibrary(ArrayLibraryKind::Torch); }

PyObject* setterTarget() {
  static PyObject* const found =
      Py_XNewRef(cpython::importedAttribute("torch._C", "_set_grad_enabled").get());
  return found;
}

// As in TorchDynamo's graphs, a mode that holds is not set again; that it holds is guarded.
void setMode(Translator& translator, uint32_t mode) {
  requireNoOperationMode(translator, "torch._C._set_grad_enabled");
  translator.observeState();
  uint32_t before = translator.mode(torchLibrary());
  if (hasGradients(before) == mode) return;
  std::vector<Argument> arguments = {Argument::constant(mode ? Py_True : Py_False)};
  translator.changeMode(torchLibrary(), setterTarget(), std::move(arguments),
                        withGradients(before, mode));
}

void rememberMode(Translator& translator, ContextManagerVariable& manager) {
  uint32_t isEnabled = hasGradients(translator.mode(torchLibrary()));
  assignTrailed(translator.trail, manager.previous, isEnabled);
}

// no_grad and enable_grad: the mode holds inside the with statement.
class GradModeModel : public ContextManagerModel {
 public:
  Value enter(Translator& translator, ContextManagerVariable& manager) const override {
    rememberMode(translator, manager);
    setMode(translator, manager.target);
    return Value::none();
  }
  Value exit(Translator& translator, ContextManagerVariable& manager) const override {
    setMode(translator, manager.previous);
    return Value::none();
  }
  std::vector<std::pair<const char*, Value>> attributes(
      const ContextManagerVariable& manager) const override {
    return {{"prev", Value::boolean(manager.previous)}};
  }
  bool showsAttributes() const override { return true; }
};

// set_grad_enabled(mode) sets the mode when it is made; its end puts the old one back.
class SetGradEnabledModel : public GradModeModel {
 public:
  Value enter(Translator& translator, ContextManagerVariable& manager) const override {
    setMode(translator, manager.target);
    return Value::none();
  }
  std::vector<std::pair<const char*, Value>> attributes(
      const ContextManagerVariable& manager) const override {
    return {{"prev", Value::boolean(manager.previous)}, {"mode", Value::boolean(manager.target)}};
  }
};

PyTypeObject* classOf(const Value& callable) {
  return reinterpret_cast<PyTypeObject*>(callable.tracker()->existing());
}

// What the class itself refuses, it refuses in Python.
void requireUsual(Translator& translator, const Value& callable, bool isUsual) {
  static PyObject* const methods[] = {staticName("__new__"), staticName("__init__"),
                                      staticName("__enter__"), staticName("__exit__")};
  if (isUsual && hasOwnMethods(translator, classOf(callable), methods)) return;
  throw GraphBreak(GraphBreakKind::UnsupportedLibraryFunction, describe(callable),
                   "it is called in an unusual way, or its methods were replaced");
}

template <bool kTarget>
Value makeMode(Translator& translator, const Value& callable, CallArguments& arguments) {
  static const GradModeModel model;
  size_t count = arguments.values.size();
  bool isUsual =
      !arguments.keywordCount() &&
      (count == 0 || (count == 1 && !translator.realized(arguments.values[0]).is(Py_None)));
  requireUsual(translator, callable, isUsual);
  Value manager =
      translator.make<ContextManagerVariable>(classOf(callable), callable, model, kTarget);
  // With a function, it is a decorator.
  if (arguments.values.empty()) return manager;
  return call(translator, manager, {arguments.values[0]}, arguments.tail);
}

Value makeSetGradEnabled(Translator& translator, const Value& callable, CallArguments& arguments) {
  static const SetGradEnabledModel model;
  const Value* mode = arguments.keyword("mode");
  if (!mode && arguments.positionalCount() == 1) mode = &arguments.values[0];
  bool isOne = mode && arguments.values.size() == 1;
  PyObject* target = isOne ? translator.realized(*mode).objectOrNull() : nullptr;
  requireUsual(translator, callable, target && PyBool_Check(target));
  auto* manager = translator.make<ContextManagerVariable>(classOf(callable), callable, model,
                                                          target == Py_True);
  rememberMode(translator, *manager);
  setMode(translator, manager->target);
  return manager;
}

// torch._C._set_grad_enabled(mode)
Value setGradEnabled(Translator& translator, const Value& callable, CallArguments& arguments) {
  bool isGiven = arguments.values.size() == 1 && arguments.keywordCount() == 0;
  PyObject* mode = isGiven ? translator.realized(arguments.values[0]).objectOrNull() : nullptr;
  if (!mode || !PyBool_Check(mode)) return unimplemented::call(translator, callable, arguments);
  setMode(translator, mode == Py_True);
  return Value::none();
}

// The mode is the trace's: what the graph has set so far, not what is set while tracing.
Value isGradEnabled(Translator& translator, const Value& callable, CallArguments& arguments) {
  if (!arguments.values.empty()) return unimplemented::call(translator, callable, arguments);
  translator.observeState();
  return Value::boolean(hasGradients(translator.mode(torchLibrary())));
}

}  // namespace

bool isGradientModeOn(Translator& translator) {
  return hasGradients(translator.mode(torchLibrary()));
}

void setGradientMode(Translator& translator, bool enabled) { setMode(translator, enabled); }

Library::ModeCall callIntoGradientMode(bool enabled) {
  Ref<> arguments = checked(PyTuple_Pack(1, enabled ? Py_True : Py_False));
  return {Ref<>::create(setterTarget()), std::move(arguments), nullptr};
}

void registerGradModes() {
  // From where they are defined: torch.no_grad may be what a program has put there.
  auto add = [](const char* module, const char* name, BuiltinHandler handler) {
    BorrowedRef<> found = cpython::importedAttribute(module, name);
    if (found && (PyType_Check(found.get()) || PyCFunction_Check(found.get()))) {
      registerObjectHandler(found.get(), handler);
    }
  };
  constexpr const char* kModes = "torch.autograd.grad_mode";
  add(kModes, "no_grad", makeMode<false>);
  add(kModes, "enable_grad", makeMode<true>);
  add(kModes, "set_grad_enabled", makeSetGradEnabled);
  static PyObject* const getter =
      Py_XNewRef(cpython::importedAttribute("torch._C", "is_grad_enabled").get());
  if (getter && setterTarget()) {
    ModeState state = {.get = getter, .set = setterTarget(), .extent = kGradientExtent};
    registerModeTarget(Ref<>::create(setterTarget()), state);
  }
  add("torch._C", "is_grad_enabled", isGradEnabled);
  add("torch._C", "_set_grad_enabled", setGradEnabled);
}

}  // namespace armature
