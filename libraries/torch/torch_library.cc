#include "libraries/torch/torch_library.h"

#include <llvm/ADT/DenseSet.h>

#include <algorithm>
#include <stdexcept>
#include <unordered_map>

#include "core/checked.h"
#include "core/graph_break.h"
#include "core/pending_python_exception.h"
#include "cpython/imported_modules.h"
#include "guards/array_library.h"
#include "libraries/torch/autocast.h"
#include "libraries/torch/callable_names.h"
#include "libraries/torch/changed_arguments.h"
#include "libraries/torch/changes_under_autograd.h"
#include "libraries/torch/checkpoint.h"
#include "libraries/torch/compiler_queries.h"
#include "libraries/torch/data_errors.h"
#include "libraries/torch/dtypes.h"
#include "libraries/torch/eager_functions.h"
#include "libraries/torch/function_modes.h"
#include "libraries/torch/function_transforms.h"
#include "libraries/torch/global_state.h"
#include "libraries/torch/grad_modes.h"
#include "libraries/torch/gradients_of_views.h"
#include "libraries/torch/history_use.h"
#include "libraries/torch/inference_mode.h"
#include "libraries/torch/meta_evaluation.h"
#include "libraries/torch/metadata_rules.h"
#include "libraries/torch/mixtures.h"
#include "libraries/torch/mode_scope.h"
#include "libraries/torch/operation_nodes.h"
#include "libraries/torch/operator_names.h"
#include "libraries/torch/overriding.h"
#include "libraries/torch/profiler_ranges.h"
#include "libraries/torch/regions.h"
#include "libraries/torch/returned_arguments.h"
#include "libraries/torch/settings.h"
#include "libraries/torch/tensor_assertion.h"
#include "libraries/torch/tensor_constants.h"
#include "libraries/torch/tensor_types.h"
#include "libraries/torch/torch_constants.h"
#include "libraries/torch/transform_levels.h"
#include "variables/tensors/assigned_memory.h"
#include "variables/translator.h"

namespace armature {

Ref<> TorchLibrary::attribute(const TensorMetadata& metadata, std::string_view name) const {
  return tensorConstant(metadata, name);
}

const ArrayConventions& TorchLibrary::conventions() const {
  static constexpr ArrayConventions conventions = {.word = "tensor",
                                                   .lengthOfScalar = "len() of a 0-d tensor",
                                                   .askedByLength = {"dim", "shape"},
                                                   .askedByIteration = "unbind",
                                                   .onlyTypesOfNumbersMatter = true,
                                                   .leavesOthers = true,
                                                   .iterator = &PyTupleIter_Type};
  return conventions;
}

// To read the gradient of what is no leaf is a warning.
const HeldAttribute* TorchLibrary::heldAttribute(std::string_view name) const {
  static const HeldAttribute gradient{.readable = "is_leaf", .alike = {"dtype", "device", "shape"}};
  return name == "grad" ? &gradient : nullptr;
}

const std::vector<std::string_view>* TorchLibrary::memoryAttribute(std::string_view name) const {
  static const std::vector<std::string_view> alike = {"dtype", "device"};
  return name == "data" ? &alike : nullptr;
}

bool TorchLibrary::isOperationAttribute(std::string_view name) const {
  return name == "T" || name == "mT" || name == "H" || name == "mH" || name == "real" ||
         name == "imag" || name == "data";
}

namespace {

bool isKnownOfLeaves(std::string_view name) {
  return name == "grad_fn" || name == "retains_grad" || name == "output_nr";
}

}  // namespace

uint32_t TorchLibrary::observedBy(std::string_view name) const {
  if (name == "dtype" || name == "itemsize" || name == "is_floating_point" ||
      name == "is_complex" || name == "element_size") {
    return ObservedDType;
  }
  if (name == "device" || name == "is_cuda" || name == "is_cpu" || name == "get_device") {
    return ObservedDevice;
  }
  if (name == "ndim" || name == "dim" || name == "ndimension") return ObservedDimension;
  if (name == "shape" || name == "size" || name == "numel" || name == "__len__") {
    return ObservedDimension | ObservedSizes;
  }
  if (name == "requires_grad") return ObservedRequiresGrad;
  if (name == "is_leaf" || isKnownOfLeaves(name)) return ObservedRequiresGrad | ObservedIsLeaf;
  if (name == "storage_offset") return ObservedStorageOffset;
  return isAnsweredByLayout(name) ? ObservedEverything : ObservedEverything & ~ObservedStrides;
}

bool TorchLibrary::mayHaveChanged(const Node& node, std::string_view attribute, const Graph& graph,
                                  Observer& observer) const {
  bool isOfGradients =
      attribute == "requires_grad" || attribute == "is_leaf" || isKnownOfLeaves(attribute);
  if (!isOfGradients) return false;
  if (mayFollowBase(node, graph)) return true;
  auto changes = [](const Node& call) { return hasGradients(call.mode) && changesArgument(call); };
  for (const auto& other : graph.from(Graph::Question::ChangesWithGradients, changes)) {
    if (other.get() == &node || !changes(*other)) continue;
    auto changed = armature::changedArrays(*other);
    bool failed = false;
    auto hasGradients = [&](Node* input) {
      ResultStructure structure = evaluate(input, observer);
      failed |= isFailure(structure);
      return requiresGrad(structure);
    };
    bool givesGradients = false;
    forEachInput(*other, [&](Node* input) {
      givesGradients |=
          (changed.size() > 1 || !llvm::is_contained(changed, input)) && hasGradients(input);
    });
    bool hadGradients = llvm::all_of(changed, hasGradients);
    if (failed) clearException();
    if (failed || (givesGradients && !hadGradients)) return true;
  }
  return false;
}

HistoryUse TorchLibrary::historyUse(const Code& code, BorrowedRef<> globals) const {
  return historyUseOf(code, globals);
}

bool TorchLibrary::isForBackends(const Graph& graph, HistoryUse use) const {
  return !transformsAreActive() && closesTransforms(graph) && !losesHistory(graph, use) &&
         !dependsOnHistoryOfViews(graph) && !givesHiddenView(graph);
}

bool TorchLibrary::holdsFractions(DType dtype) const {
  return isFloating(dtype) || dtype == Complex64 || dtype == Complex128;
}

bool TorchLibrary::mayReturnItself(const Node& node) const {
  const Node* first = inputAt(node, 0);
  bool isParameter = first && first->metadata && first->metadata->isParameter;
  return isParameter && mayReturnArgument(nameOf(node));
}

bool TorchLibrary::changesLayout(const Node& node) const { return changesLayoutOnly(nameOf(node)); }

CallRule TorchLibrary::dispatch(Translator& translator, const CallRule& rule,
                                llvm::ArrayRef<Value> arguments) const {
  for (const Value& argument : arguments) {
    requireOwnMemory(argument);
    if (const char* reason = reasonOfOverride(translator, torch_, argument)) {
      return {.kind = CallKind::Unsupported, .reason = reason};
    }
  }
  return rule;
}

const char* TorchLibrary::reasonAgainstOperations() const {
  if (dispatchModesAreActive()) return "a mode of the program (TorchDispatchMode) is active";
  return hasSavedTensorHooks() ? "hooks of the program on saved tensors are active" : nullptr;
}

Library::ModeState TorchLibrary::modeState(const Node& node) const {
  if (changesTransforms(node) || changesSetting(node)) return transformState();
  if (changesInferenceMode(node)) return inferenceModeState();
  return changesAutocast(nameOf(node)) ? autocastState() : ModeState();
}

// A graph that ends inside of a transform is given to no backend: it does all that itself.
void TorchLibrary::finishForBackend(Graph& graph, std::vector<Node*>& results) const {
  resolveReturnedArguments(graph, results);
  auto nodes = llvm::reverse(graph.nodes());
  auto last = llvm::find_if(nodes, [](const auto& node) { return node->newMode.has_value(); });
  if (last != nodes.end() && !hasTransform(*(*last)->newMode)) leaveAutocast(graph);
}

std::vector<Node*> TorchLibrary::leaveContexts(Graph& graph) const {
  return leaveInferenceMode(graph);
}

Library::ModeCall TorchLibrary::callBetween(uint32_t from, uint32_t to) const {
  bool isSame = hasGradients(from) == hasGradients(to);
  return isSame ? ModeCall() : callIntoGradientMode(hasGradients(to));
}

std::vector<Library::ModeCall> TorchLibrary::callsInto(uint32_t mode) const {
  if (hasTransform(mode)) return {};
  std::vector<ModeCall> calls = {callIntoGradientMode(hasGradients(mode))};
  for (uint32_t number : regionsOf(mode)) {
    const Region& region = regionAt(number);
    if (auto setting = callIntoSetting(region)) calls.push_back(std::move(*setting));
    if (auto autocast = callIntoAutocast(region)) calls.push_back(std::move(*autocast));
  }
  return calls;
}

bool TorchLibrary::isStateOfMode(uint32_t mode, uint64_t states) const {
  return (hasAutocast(mode) && (states & autocastSettings())) ||
         (hasInferenceMode(mode) && (states & settingBit(TorchSetting::inference_mode))) ||
         (hasTransform(mode) && (states & settingBit(TorchSetting::transform_levels))) ||
         (states & settingsOfMode(mode));
}

std::shared_ptr<void> TorchLibrary::enterMode(uint32_t mode) const {
  auto scope = std::make_shared<ModeScope>();
  if (!hasTransform(mode) && enterInferenceMode(*scope, mode) &&
      scope->setGradEnabled(hasGradients(mode)) && enterAutocast(*scope, mode, true) &&
      enterSettings(*scope, mode)) {
    return scope;
  }
  clearUnlessInterrupted();
  return nullptr;
}

uint32_t TorchLibrary::currentMode() const {
  static PyObject* const isGradEnabled = torchBinding("is_grad_enabled");
  Ref<> enabled = checked(PyObject_CallNoArgs(isGradEnabled));
  return enabled.get() != Py_False;
}

bool registerTorchLibrary() {
  if (findLibrary(ArrayLibraryKind::Torch)) return true;
  const TorchModule* torch = TorchModule::get();
  if (!torch) return false;
  // What every evaluation needs, made while no mode of a traced program looks on.
  deviceObject({});
  deviceObject({kMetaDevice, -1});
  clearException();
  // What modes of torch's own ask for at each operation: remembered from the first call on.
  if (BorrowedRef<> makers =
          cpython::importedAttribute("torch.utils._device", "_device_constructors")) {
    Ref<> remembered = Ref<>::steal(PyObject_CallNoArgs(makers.get()));
    if (!remembered) clearException();
  }
  registerTorchConstants(*torch);
  registerLibrary(new TorchLibrary(*torch));
  registerGradModes();
  registerAutocast();
  registerInferenceMode();
  registerProfilerRanges();
  registerTensorTypes();
  registerCompilerQueries();
  registerCheckpoints();
  registerEagerFunctions();
  registerTensorAssertion();
  registerFunctionModes();
  return true;
}

}  // namespace armature
