#include "libraries/torch/inference_mode.h"

#include <llvm/ADT/STLExtras.h>

#include <algorithm>

#include "core/checked.h"
#include "core/pending_python_exception.h"
#include "cpython/imported_modules.h"
#include "cpython/type_lookup.h"
#include "graph/eager_code.h"
#include "libraries/torch/global_state.h"
#include "libraries/torch/mode_scope.h"
#include "libraries/torch/torch_module.h"
#include "variables/functions/builtin_handlers.h"
#include "variables/objects/context_manager.h"
#include "variables/operation_modes.h"
#include "variables/protocol/object_protocol.h"
#include "variables/trailed.h"

namespace armature {

namespace {

const Library& torchLibrary() { return *findLibrary(ArrayLibraryKind::Torch); }

// torch._C._InferenceMode; null where this torch has none.
PyTypeObject* contextType() {
  static PyObject* const type =
      Py_XNewRef(cpython::importedAttribute("torch._C", "_InferenceMode").get());
  return type && PyType_Check(type) ? reinterpret_cast<PyTypeObject*>(type) : nullptr;
}

// The functions that TorchDynamo's graphs call.
PyObject* target(const char* name) {
  return Py_XNewRef(cpython::importedAttribute("torch.autograd.grad_mode", name).get());
}

PyObject* enterTarget() {
  static PyObject* const found = target("_enter_inference_mode");
  return found;
}

PyObject* exitTarget() {
  static PyObject* const found = target("_exit_inference_mode");
  return found;
}

[[noreturn]] void refuse(const char* reason) {
  throw GraphBreak(GraphBreakKind::UnsupportedLibraryFunction, "torch._C._InferenceMode", reason);
}

// An object that enters the mode, once, and leaves it when it is told to, or dies.
class InferenceModeModel : public ContextManagerModel {
 public:
  Value enter(Translator& translator, ContextManagerVariable& manager) const override {
    requireNoOperationMode(translator, "torch.autograd.grad_mode._enter_inference_mode");
    // What a backend computes later is none of inference mode.
    if (translator.usesForeignBackend()) refuse("backends forget that it is entered");
    if (manager.node) refuse("it is entered inside itself");
    uint32_t before = translator.mode(torchLibrary());
    if (hasTransform(before)) refuse("it stands inside of a transform");
    translator.observeState(settingBit(TorchSetting::inference_mode));
    uint32_t number = numberOf({.outer = regionOf(before),
                                .kind = RegionKind::Inference,
                                .settings = {Ref<>::create(manager.target ? Py_True : Py_False)}});
    Node* node = translator.changeMode(torchLibrary(), enterTarget(),
                                       {Argument::constant(manager.target ? Py_True : Py_False)},
                                       withGradients(number << 1, !manager.target));
    assignTrailed(translator.trail, manager.previous, before);
    assignTrailed(translator.trail, manager.node, node);
    return Value::none();
  }
  Value exit(Translator& translator, ContextManagerVariable& manager) const override {
    if (!manager.node) return Value::none();
    requireNoOperationMode(translator, "torch.autograd.grad_mode._exit_inference_mode");
    uint32_t inside = translator.mode(torchLibrary());
    if (regionOf(inside) != regionOf(*manager.node->newMode)) {
      refuse("it is left amid what was entered in it");
    }
    translator.changeMode(torchLibrary(), exitTarget(), {Argument(manager.node)}, manager.previous);
    assignTrailed(translator.trail, manager.node, static_cast<Node*>(nullptr));
    return Value::none();
  }
  std::vector<std::pair<const char*, Value>> attributes(
      const ContextManagerVariable&) const override {
    return {};
  }
  bool isMadeByCall() const override { return true; }
};

Value makeContext(Translator& translator, const Value& callable, CallArguments& arguments) {
  static const InferenceModeModel model;
  bool isUsual = arguments.values.size() == 1 && !arguments.keywordCount();
  PyObject* enabled = isUsual ? translator.realized(arguments.values[0]).objectOrNull() : nullptr;
  if (!enabled || !PyBool_Check(enabled)) refuse("it is called in an unusual way");
  return translator.make<ContextManagerVariable>(contextType(), callable, model, enabled == Py_True,
                                                 ValueVector{Value::boolean(enabled == Py_True)});
}

// The context that a method of the class was called with: one of the trace's, or null.
ContextManagerVariable* contextOf(CallArguments& arguments, size_t count) {
  if (arguments.values.size() != count || arguments.keywordCount()) return nullptr;
  auto* context = trackerOf<ContextManagerVariable>(arguments.values[0]);
  return context && context->type() == contextType() ? context : nullptr;
}

Value callEnter(Translator& translator, const Value& callable, CallArguments& arguments) {
  ContextManagerVariable* context = contextOf(arguments, 1);
  if (!context) return unimplemented::call(translator, callable, arguments);
  return context->model.enter(translator, *context);
}

Value callExit(Translator& translator, const Value& callable, CallArguments& arguments) {
  ContextManagerVariable* context = contextOf(arguments, 4);
  if (!context) return unimplemented::call(translator, callable, arguments);
  return context->model.exit(translator, *context);
}

// --- In the eager backend.

// The contexts that this thread's graphs have entered, of which each holds a reference.
std::vector<PyObject*>& entered() {
  thread_local std::vector<PyObject*> contexts;
  return contexts;
}

bool leave(PyObject* context) {
  return bool(
      Ref<>::steal(PyObject_CallMethod(context, "__exit__", "OOO", Py_None, Py_None, Py_None)));
}

PyObject* enterContext(PyObject*, PyObject* enabled) {
  Ref<> context =
      Ref<>::steal(PyObject_CallOneArg(reinterpret_cast<PyObject*>(contextType()), enabled));
  Ref<> isEntered =
      Ref<>::steal(context ? PyObject_CallMethod(context.get(), "__enter__", nullptr) : nullptr);
  if (!isEntered) return nullptr;
  entered().push_back(Py_NewRef(context.get()));
  return context.release();
}

PyObject* exitContext(PyObject*, PyObject* context) {
  auto& contexts = entered();
  auto found = std::find(contexts.rbegin(), contexts.rend(), context);
  Ref<> held;
  if (found != contexts.rend()) {
    held = Ref<>::steal(*found);
    contexts.erase(std::next(found).base());
  }
  if (!leave(context)) return nullptr;
  Py_RETURN_NONE;
}

PyObject* getState(PyObject*, PyObject*) {
  static PyObject* const isGradEnabled = torchBinding("is_grad_enabled");
  Ref<> gradients = Ref<>::steal(PyObject_CallNoArgs(isGradEnabled));
  return gradients ? Py_BuildValue("(nO)", enteredInferenceModes(), gradients.get()) : nullptr;
}

PyObject* setState(PyObject*, PyObject* state) {
  static PyObject* const setGradEnabled = torchBinding("_set_grad_enabled");
  bool isState = PyTuple_CheckExact(state) && PyTuple_GET_SIZE(state) == 2 &&
                 PyLong_CheckExact(PyTuple_GET_ITEM(state, 0));
  if (!isState) {
    PyErr_SetString(PyExc_TypeError, "the state that was read is wanted");
    return nullptr;
  }
  if (!leaveInferenceModes(PyLong_AsSsize_t(PyTuple_GET_ITEM(state, 0)))) return nullptr;
  return PyObject_CallOneArg(setGradEnabled, PyTuple_GET_ITEM(state, 1));
}

void registerEager(PyObject* target, PyMethodDef& definition) {
  registerEagerTarget(Ref<>::create(target), checked(PyCFunction_New(&definition, nullptr)));
}

void registerMethod(const char* name, BuiltinHandler handler) {
  PyObject* method = cpython::ownAttribute(contextType(), name);
  if (!method || !PyInstanceMethod_Check(method)) return;
  registerObjectHandler(PyInstanceMethod_GET_FUNCTION(method), handler);
}

}  // namespace

bool enterInferenceMode(ModeScope& scope, uint32_t mode) {
  std::vector<uint32_t> regions = regionsOf(mode);
  for (uint32_t number : llvm::reverse(regions)) {
    const Region& region = regionAt(number);
    if (region.kind != RegionKind::Inference) continue;
    return scope.enterBinding("_InferenceMode", region.settings[0].get());
  }
  return true;
}

bool changesInferenceMode(const Node& node) {
  return node.operation == NodeOperation::CallFunction && node.newMode &&
         (node.target.get() == enterTarget() || node.target.get() == exitTarget());
}

std::vector<Node*> leaveInferenceMode(Graph& graph) {
  std::vector<Node*> entered;
  for (const auto& node : graph.nodes()) {
    if (!changesInferenceMode(*node)) continue;
    if (node->target.get() == enterTarget()) {
      entered.push_back(node.get());
    } else {
      llvm::erase_value(entered, node->arguments[0].node());
    }
  }
  for (Node* enter : llvm::reverse(entered)) {
    Node* exit = graph.addCall(NodeOperation::CallFunction, exitTarget(), {Argument(enter)}, {},
                               enter->location);
    exit->library = enter->library;
    exit->mode = *enter->newMode;
    exit->newMode = enter->mode;
  }
  return entered;
}

Py_ssize_t enteredInferenceModes() { return static_cast<Py_ssize_t>(entered().size()); }

bool leaveInferenceModes(Py_ssize_t wanted) {
  while (enteredInferenceModes() > std::max<Py_ssize_t>(wanted, 0)) {
    Ref<> context = Ref<>::steal(entered().back());
    entered().pop_back();
    if (!leave(context.get())) return false;
  }
  return true;
}

Library::ModeState inferenceModeState() {
  static const Library::ModeState state = makeModeState(getState, setState, kInferenceExtent);
  return state;
}

void registerInferenceMode() {
  // A torch without them enters the mode in Python.
  if (!contextType() || !enterTarget() || !exitTarget()) return;
  static PyMethodDef enter = {"_enter_inference_mode", enterContext, METH_O, nullptr};
  static PyMethodDef exit = {"_exit_inference_mode", exitContext, METH_O, nullptr};
  registerEager(enterTarget(), enter);
  registerEager(exitTarget(), exit);
  registerModeTarget(Ref<>::create(enterTarget()), inferenceModeState());
  registerObjectHandler(reinterpret_cast<PyObject*>(contextType()), makeContext);
  registerMethod("__enter__", callEnter);
  registerMethod("__exit__", callExit);
}

}  // namespace armature
