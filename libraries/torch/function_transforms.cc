#include "libraries/torch/function_transforms.h"

#include <llvm/ADT/DenseSet.h>
#include <llvm/ADT/STLExtras.h>

#include <algorithm>
#include <array>

#include "core/checked.h"
#include "core/pending_python_exception.h"
#include "core/text.h"
#include "cpython/imported_modules.h"
#include "graph/eager_code.h"
#include "libraries/torch/autocast.h"
#include "libraries/torch/callable_names.h"
#include "libraries/torch/global_state.h"
#include "libraries/torch/mode_scope.h"
#include "libraries/torch/settings.h"
#include "libraries/torch/transform_levels.h"
#include "variables/constants/constant.h"
#include "variables/functions/builtin_handlers.h"
#include "variables/functions/functions.h"
#include "variables/protocol/object_protocol.h"
#include "variables/tensors/tensor.h"
#include "variables/trailed.h"

namespace armature {

namespace {

const Library& torchLibrary() { return *findLibrary(ArrayLibraryKind::Torch); }

[[noreturn]] void refuse(const Value& callable, const char* reason) {
  throw GraphBreak(GraphBreakKind::UnsupportedLibraryFunction, describe(callable), reason);
}

PyObject* objectOf(const Value& callable) {
  return callable.isTracker() ? callable.tracker()->existing() : callable.object();
}

// --- Levels.

struct LevelFunctions {
  RegionKind kind;
  std::string_view enter, leave;
};

constexpr std::array kLevels = {
    LevelFunctions{RegionKind::Grad, "torch._C._functorch._grad_increment_nesting",
                   "torch._C._functorch._grad_decrement_nesting"},
    LevelFunctions{RegionKind::Vmap, "torch._functorch.predispatch._vmap_increment_nesting",
                   "torch._functorch.predispatch._vmap_decrement_nesting"},
    LevelFunctions{RegionKind::Jvp, "torch._functorch.predispatch._jvp_increment_nesting",
                   "torch._functorch.predispatch._jvp_decrement_nesting"},
    LevelFunctions{RegionKind::Dual, "torch._functorch.predispatch._enter_dual_level",
                   "torch._functorch.predispatch._exit_dual_level"},
};

const LevelFunctions* entering(std::string_view name) {
  auto* found = llvm::find_if(kLevels, [&](const auto& level) { return level.enter == name; });
  return found == kLevels.end() ? nullptr : found;
}
const LevelFunctions* leaving(std::string_view name) {
  auto* found = llvm::find_if(kLevels, [&](const auto& level) { return level.leave == name; });
  return found == kLevels.end() ? nullptr : found;
}

// The constants of a call; breaks where they are none.
std::vector<Ref<>> constants(Translator& translator, const Value& callable,
                             CallArguments& arguments) {
  std::vector<Ref<>> result;
  for (Value& value : arguments.values) {
    PyObject* object = translator.realized(value).objectOrNull();
    if (!object) refuse(callable, "its arguments are not constants");
    result.push_back(Ref<>::create(object));
  }
  return result;
}

std::vector<Argument> positional(const std::vector<Ref<>>& constants, size_t count) {
  std::vector<Argument> result;
  for (size_t i = 0; i < count; ++i) result.push_back(Argument::constant(constants[i]));
  return result;
}

uint32_t withRegion(uint32_t region, bool gradients) {
  return withGradients(region << 1, gradients);
}

Ref<> ask(const char* module, const char* name) {
  Ref<> found = Ref<>::steal(cpython::importModule(module));
  return Ref<>::steal(found ? PyObject_CallMethod(found.get(), name, nullptr) : nullptr);
}

// Off in inference mode.
bool hasForwardGradients() {
  return checked(ask("torch._C", "_is_fwd_grad_enabled").release()).get() == Py_True;
}

void requireNoneAround(Translator& translator, const Value& callable) {
  translator.observeState(settingBit(TorchSetting::transform_levels));
  if (transformsAreActive()) refuse(callable, "a transform is at work around the call");
}

Value enterLevel(Translator& translator, const Value& callable, CallArguments& arguments) {
  std::vector<Ref<>> settings = constants(translator, callable, arguments);
  BorrowedRef<> target = objectOf(callable);
  const LevelFunctions* level = entering(callableNames().of(target).qualified());
  uint32_t before = translator.mode(torchLibrary());
  // Arrays are wrapped for levels by their numbers, which begin with those that are there already.
  if (!hasTransform(before)) requireNoneAround(translator, callable);
  if (hasInferenceMode(before)) refuse(callable, "it stands inside of torch.inference_mode");
  if (level->kind == RegionKind::Dual && !hasForwardGradients()) {
    // What switches them on in the trace is not on where its operations are tried out.
    refuse(callable, "gradients of forward mode are off around the call");
  }
  std::vector<Argument> passed = positional(settings, arguments.positionalCount());
  Region region{.outer = regionOf(before),
                .kind = level->kind,
                .instance = static_cast<int32_t>(translator.graph->size()),
                .settings = std::move(settings)};
  if (level->kind == RegionKind::Grad) {
    region.settings = {Ref<>::create(hasGradients(before) ? Py_True : Py_False)};
  }
  uint32_t mode = withRegion(numberOf(std::move(region)), hasGradients(before));
  ModeScope modes;
  TransformLevels levels;
  if (!levels.set(mode)) {
    // Levels of forward-mode differentiation do not nest, say.
    clearUnlessInterrupted();
    refuse(callable, "the level cannot be entered here");
  }
  Value number = translator.fromPython(Py_NewRef(levels.number()));
  registerModeTarget(Ref<>::create(target), transformState());
  translator.changeMode(torchLibrary(), target, std::move(passed), mode);
  return number;
}

Value leaveLevel(Translator& translator, const Value& callable, CallArguments& arguments) {
  std::vector<Ref<>> settings = constants(translator, callable, arguments);
  BorrowedRef<> target = objectOf(callable);
  const LevelFunctions* level = leaving(callableNames().of(target).qualified());
  uint32_t before = translator.mode(torchLibrary());
  const Region& region = regionAt(regionOf(before));
  if (!regionOf(before) || region.kind != level->kind) {
    refuse(callable, "it leaves another level than the innermost one");
  }
  Node* node = translator.changeMode(torchLibrary(), target,
                                     positional(settings, arguments.positionalCount()),
                                     withRegion(region.outer, hasGradients(before)));
  for (size_t i = 0; i < arguments.keywordCount(); ++i) {
    node->keywordArguments.emplace_back(
        Ref<>::create(arguments.keywordName(i)),
        Argument::constant(settings[arguments.positionalCount() + i]));
  }
  return Value::none();
}

// --- What goes with the levels.

constexpr std::array<std::string_view, 6> kSettings = {
    "torch._C._autograd._saved_tensors_hooks_disable",
    "torch._C._autograd._saved_tensors_hooks_enable",
    "torch._C._functorch.set_inplace_requires_grad_allowed",
    "torch._C._set_fwd_grad_enabled",
    "torch._functorch.predispatch.lazy_load_decompositions",
    "torch.autograd.forward_ad._maybe_load_decompositions",
};

Value changeSetting(Translator& translator, const Value& callable, CallArguments& arguments) {
  std::vector<Ref<>> settings = constants(translator, callable, arguments);
  if (arguments.keywordCount()) refuse(callable, "it is called by keywords");
  registerModeTarget(Ref<>::create(objectOf(callable)), transformState());
  translator.addOperation(torchLibrary(), objectOf(callable), positional(settings, settings.size()),
                          {});
  return Value::none();
}

// What the graph has last given the first of these functions that it has called; null if none.
PyObject* lastGiven(Translator& translator, llvm::ArrayRef<std::string_view> functions) {
  for (const auto& node : llvm::reverse(translator.graph->nodes())) {
    if (!changesTransforms(*node)) continue;
    std::string name = callableNames().of(node->target).qualified();
    if (!llvm::is_contained(functions, name)) continue;
    return node->arguments.empty() ? Py_None : node->arguments[0].object().get();
  }
  return nullptr;
}

Value askSetting(Translator& translator, const Value& callable, CallArguments& arguments) {
  if (!checkArgumentCount(translator, "it", arguments, 0, 0)) return Value();
  std::string name = callableNames().of(objectOf(callable)).qualified();
  PyObject* given = nullptr;
  if (name.ends_with("hooks_get_disabled_error_message")) {
    given = lastGiven(translator, {kSettings[0], kSettings[1]});
  } else if (name.ends_with("get_inplace_requires_grad_allowed")) {
    given = lastGiven(translator, {kSettings[2]});
  } else {
    given = lastGiven(translator, {kSettings[3]});
  }
  if (given) return translator.fromPython(Py_NewRef(given));
  if (hasInferenceMode(translator.mode(torchLibrary()))) {
    refuse(callable, "it stands inside of torch.inference_mode");
  }
  translator.observeState(settingBit(TorchSetting::transform_levels));
  return translator.fromPython(checked(PyObject_CallNoArgs(objectOf(callable))).release());
}

constexpr std::array<std::string_view, 3> kQuestions = {
    "torch._C._autograd._saved_tensors_hooks_get_disabled_error_message",
    "torch._C._functorch.get_inplace_requires_grad_allowed",
    "torch._C._is_fwd_grad_enabled",
};

// --- Calls.

// A break inside is a break of the call: Python has no way into the middle of a level.
Value callWhole(Translator& translator, const Value& callable, CallArguments& arguments) {
  auto* function = trackerOf<UserFunctionVariable>(callable);
  if (!function) refuse(callable, "it is not a function");
  arguments.tail = false;
  uint32_t before = translator.mode(torchLibrary());
  Value result = translator.callUserFunction(function, arguments);
  if (translator.mode(torchLibrary()) != before)
    refuse(callable, "it leaves torch in another mode");
  return result;
}

constexpr std::array<std::string_view, 8> kWholeCalls = {
    "torch._functorch.vmap.vmap_impl",
    "torch._functorch.eager_transforms.grad_and_value_impl",
    "torch._functorch.eager_transforms._vjp_with_argnums",
    "torch._functorch.eager_transforms._jvp_with_argnums",
    // Outside of a trace, these have TorchDynamo compile them.
    "torch._higher_order_ops.associative_scan.associative_scan",
    "torch._higher_order_ops.map.map",
    "torch._higher_order_ops.scan.scan",
    "torch._higher_order_ops.while_loop.while_loop",
};

constexpr std::string_view kSetRequiresGrad =
    "torch._functorch.eager_transforms._set_tensor_requires_grad";

// Changes the array, which keeps its name in the graph. What is returned goes by another, as in
// TorchDynamo's graphs; that it is the same array, torch's own code, which alone sees it, never
// asks.
Value setRequiresGrad(Translator& translator, const Value& callable, CallArguments& arguments) {
  Value self = arguments.values.size() == 1 ? translator.realized(arguments.values[0]) : Value();
  auto* tensor = trackerOf<TensorVariable>(self);
  bool isOwn = tensor && tensor->node->operation != NodeOperation::Placeholder &&
               isOfTransform(*tensor->node) && !tensor->node->alteredBy;
  if (!isOwn) refuse(callable, "the array is not one of a level");
  Node* node =
      translator.addOperation(torchLibrary(), objectOf(callable), {Argument(tensor->node)}, {});
  node->checked = true;
  assignTrailed(translator.trail, tensor->node->alteredBy, node);
  tensor->node->metadata = nullptr;
  // Backends are told what each value is like.
  if (translator.usesForeignBackend() && !torchLibrary().metadata(tensor->node, translator)) {
    clearException();
  }
  return translator.make<TensorVariable>(torchLibrary().arrayType(), node, &torchLibrary());
}

constexpr std::array<std::string_view, 7> kOneArray = {
    "torch._C._functorch._wrap_for_grad",
    "torch._C._functorch._unwrap_for_grad",
    "torch._functorch.predispatch._unwrap_for_grad",
    "torch._functorch.predispatch._add_batch_dim",
    "torch._functorch.predispatch._remove_batch_dim",
    "torch._functorch.predispatch._make_dual",
    kSetRequiresGrad,
};
constexpr std::array<std::string_view, 2> kSeveralArrays = {
    "torch._functorch.predispatch._unpack_dual",
    "torch._functorch.eager_transforms._autograd_grad",
};

// Numbers of levels inside of which a mode is, without those that wrap nothing.
size_t depthOf(uint32_t mode) {
  return llvm::count_if(regionsOf(mode), [](uint32_t number) {
    const Region& region = regionAt(number);
    return isTransform(region) && region.kind != RegionKind::Dual;
  });
}

}  // namespace

bool leavesLevels(const Node& node) {
  if (node.operation != NodeOperation::CallFunction || depthOf(node.mode) != 1) return false;
  std::string_view name = callableNames().of(node.target).name;
  return name == "_unwrap_for_grad" || name == "_remove_batch_dim";
}

LibraryCallHandler findTransformHandler(std::string_view name) {
  if (entering(name)) return enterLevel;
  if (leaving(name)) return leaveLevel;
  if (llvm::is_contained(kSettings, name)) return changeSetting;
  if (llvm::is_contained(kQuestions, name)) return askSetting;
  if (llvm::is_contained(kWholeCalls, name)) return callWhole;
  return name == kSetRequiresGrad ? setRequiresGrad : nullptr;
}

CallRule transformOperation(std::string_view name) {
  if (llvm::is_contained(kOneArray, name)) {
    return {.kind = CallKind::GraphOperation, .returnsOneArray = true};
  }
  if (llvm::is_contained(kSeveralArrays, name)) return {.kind = CallKind::GraphOperation};
  return {};
}

bool isTransformOperation(const Node& node) {
  return node.operation == NodeOperation::CallFunction &&
         transformOperation(callableNames().of(node.target).qualified()).kind != CallKind::NotOurs;
}

bool transformsAreActive() {
  Ref<> depth = checked(callFunctorch("get_dynamic_layer_stack_depth").release());
  return PyLong_AsLong(depth.get()) != 0;
}

void requireNoTransform(Translator& translator, const Value& callable) {
  if (hasTransform(translator.mode(torchLibrary()))) {
    refuse(callable, "it stands inside of a transform");
  }
  requireNoneAround(translator, callable);
}

bool isUnheardTransform(BorrowedRef<> callable) {
  constexpr std::array<std::string_view, 9> kUnheard = {
      "torch._C._autograd._saved_tensors_hooks_disable",
      "torch._C._autograd._saved_tensors_hooks_enable",
      "torch._C._autograd._saved_tensors_hooks_get_disabled_error_message",
      "torch._functorch.predispatch._add_batch_dim",
      "torch._functorch.predispatch._remove_batch_dim",
      "torch._functorch.predispatch._vmap_decrement_nesting",
      "torch._functorch.predispatch._vmap_increment_nesting",
      "torch._functorch.predispatch.lazy_load_decompositions",
      "torch._functorch.vmap.vmap_impl",
  };
  return llvm::is_contained(kUnheard, callableNames().of(callable).qualified());
}

bool changesTransforms(const Node& node) {
  if (node.operation != NodeOperation::CallFunction) return false;
  // Asked of every node: most names tell at once.
  const CallableName& callable = callableNames().of(node.target);
  bool mayBe = callable.name.starts_with('_') || callable.name.starts_with("lazy_") ||
               callable.name.starts_with("set_inplace_");
  if (!mayBe) return false;
  std::string name = callable.qualified();
  return entering(name) || leaving(name) || llvm::is_contained(kSettings, name);
}

bool closesTransforms(const Graph& graph) {
  int open = 0;
  bool returnsInner = false;
  for (const auto& node : graph.nodes()) {
    if (node->operation == NodeOperation::Output) {
      forEachInput(*node, [&](Node* result) {
        // What vjp's function computes from a level that was left is no array of it.
        bool isInner = hasTransform(result->mode) && isOfTransform(*result);
        returnsInner |= isInner && !leavesLevels(*result);
      });
    }
    if (node->operation != NodeOperation::CallFunction || !changesTransforms(*node)) continue;
    std::string name = callableNames().of(node->target).qualified();
    open += (entering(name) != nullptr) - (leaving(name) != nullptr);
  }
  return open == 0 && !returnsInner;
}

bool setsRequiresGrad(const Node& node) {
  return node.operation == NodeOperation::CallFunction &&
         callableNames().of(node.target).qualified() == kSetRequiresGrad;
}

bool isOfTransform(const Node& node) {
  using enum Node::TransformRelation;
  if (node.transformRelation != Unknown) return node.transformRelation == Inside;
  std::vector<const Node*> open = {&node};
  while (!open.empty()) {
    const Node& next = *open.back();
    if (!next.isCall() || hasTransform(next.mode)) {
      next.transformRelation = next.isCall() ? Inside : Outside;
      open.pop_back();
      continue;
    }
    bool isInside = false;
    size_t known = open.size();
    forEachInput(next, [&](Node* input) {
      if (input->transformRelation == Unknown) open.push_back(input);
      isInside |= input->transformRelation == Inside && !leavesLevels(*input);
    });
    if (open.size() != known) continue;
    next.transformRelation = isInside ? Inside : Outside;
    open.pop_back();
  }
  return node.transformRelation == Inside;
}

bool isOfOuterTransform(const Node& node) {
  if (node.operation != NodeOperation::CallFunction || isOfTransform(node)) return false;
  // Asked of every node that is evaluated: most names tell at once.
  const CallableName& callable = callableNames().of(node.target);
  return callable.name.starts_with('_') &&
         transformOperation(callable.qualified()).kind != CallKind::NotOurs;
}

std::vector<const Node*> transformNodesBefore(const Node& node) {
  std::vector<const Node*> result;
  llvm::DenseSet<const Node*> seen = {&node};
  auto add = [&](const Node* input) {
    bool isNeeded = isOfTransform(*input) && !leavesLevels(*input) && input->index < node.index;
    if (isNeeded && seen.insert(input).second) result.push_back(input);
  };
  auto addInputsOf = [&](const Node& each) {
    forEachInput(each, add);
    if (each.alteredBy) add(each.alteredBy);
  };
  addInputsOf(node);
  for (size_t i = 0; i < result.size(); ++i) addInputsOf(*result[i]);
  std::ranges::sort(result, {}, &Node::index);
  return result;
}

namespace {

// The rest of what can be set; the depth of levels; whether forward gradients are on; and why hooks
// on saved tensors are refused; and the settings that a graph can change.
PyObject* getState(PyObject*, PyObject*) {
  Ref<> others = Ref<>::steal(PyObject_CallNoArgs(autocastState().get));
  Ref<> depth = callFunctorch("get_dynamic_layer_stack_depth");
  Ref<> forward = ask("torch._C", "_is_fwd_grad_enabled");
  Ref<> message = ask("torch._C._autograd", "_saved_tensors_hooks_get_disabled_error_message");
  Ref<> settings = currentSettings();
  if (!others || !depth || !forward || !message || !settings) return nullptr;
  return PyTuple_Pack(5, others.get(), depth.get(), forward.get(), message.get(), settings.get());
}

bool leaveLevels(PyObject* wanted) {
  Ref<> depth = callFunctorch("get_dynamic_layer_stack_depth");
  if (!depth) return false;
  int isThere = PyObject_RichCompareBool(depth.get(), wanted, Py_EQ);
  if (isThere == 0)
    return bool(callFunctorch("pop_dynamic_layer_stack_and_undo_to_depth", {wanted}));
  return isThere > 0;
}

// There is but one level of forward-mode differentiation; a program's own stays.
void leaveForwardMode() {
  Ref<> module = Ref<>::steal(cpython::importModule("torch.autograd.forward_ad"));
  Ref<> programs =
      Ref<>::steal(module ? PyObject_GetAttrString(module.get(), "_current_level") : nullptr);
  if (programs && PyLong_Check(programs.get()) && PyLong_AsLong(programs.get()) < 0) {
    Ref<> left = leaveDualLevel();
  }
  clearException();
}

PyObject* setState(PyObject*, PyObject* state) {
  if (!PyTuple_CheckExact(state) || PyTuple_GET_SIZE(state) != 5) {
    PyErr_SetString(PyExc_TypeError, "the state that was read is wanted");
    return nullptr;
  }
  auto item = [&](size_t i) { return PyTuple_GET_ITEM(state, i); };
  leaveForwardMode();
  if (!leaveLevels(item(1))) return nullptr;
  Ref<> bindings = Ref<>::steal(cpython::importModule("torch._C"));
  Ref<> autograd = Ref<>::steal(cpython::importModule("torch._C._autograd"));
  if (!bindings || !autograd) return nullptr;
  Ref<> forward =
      Ref<>::steal(PyObject_CallMethod(bindings.get(), "_set_fwd_grad_enabled", "O", item(2)));
  Ref<> hooks = Ref<>::steal(
      item(3) == Py_None
          ? PyObject_CallMethod(autograd.get(), "_saved_tensors_hooks_enable", nullptr)
          : PyObject_CallMethod(autograd.get(), "_saved_tensors_hooks_disable", "O", item(3)));
  if (!forward || !hooks || !setSettings(item(4))) return nullptr;
  return PyObject_CallOneArg(autocastState().set, item(0));
}

}  // namespace

Library::ModeState transformState() {
  static const Library::ModeState state = makeModeState(getState, setState, kTransformExtent);
  return state;
}

}  // namespace armature
