#include "libraries/torch/meta_evaluation.h"

#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/ADT/SmallSet.h>

#include <optional>
#include <string>
#include <utility>

#include "core/checked.h"
#include "core/graph_break.h"
#include "core/pending_python_exception.h"
#include "core/set_exception.h"
#include "cpython/deferred_signals.h"
#include "cpython/imported_modules.h"
#include "libraries/torch/allowed_functions.h"
#include "libraries/torch/autocast.h"
#include "libraries/torch/callable_names.h"
#include "libraries/torch/changed_arguments.h"
#include "libraries/torch/dtypes.h"
#include "libraries/torch/function_transforms.h"
#include "libraries/torch/global_state.h"
#include "libraries/torch/inference_mode.h"
#include "libraries/torch/mode_scope.h"
#include "libraries/torch/operation_nodes.h"
#include "libraries/torch/operator_names.h"
#include "libraries/torch/result_reader.h"
#include "libraries/torch/settings.h"
#include "libraries/torch/stand_ins.h"
#include "libraries/torch/thread_state.h"
#include "libraries/torch/transform_levels.h"

namespace armature {

namespace {

// As kMostRealElements, where only whether it runs is asked, and in a mixture.
constexpr int64_t kMostTriedElements = 1 << 12;
constexpr int64_t kMostMixedElements = 1 << 26;

[[noreturn]] void breakOnData(const Node& node) {
  throw GraphBreak(GraphBreakKind::DataDependentOperator, targetName(node.target));
}

ResultStructure failed() {
  ResultStructure result;
  result.kind = ResultStructure::Kind::Constant;
  return result;
}

class Evaluation {
 public:
  Evaluation(const TorchModule& torch, const Node& node, InputStructures inputs,
             llvm::ArrayRef<const Node*> before = {})
      : torch_(torch),
        node_(node),
        inputs_(inputs),
        before_(before),
        isBefore_(before.begin(), before.end()),
        standIns_(torch, inputs) {}

  ResultStructure run() {
    lookAtArguments();
    standIns_.kind = needsFake() ? Stand::Fake : Stand::Meta;
    std::optional<ResultStructure> result = tryOut();
    if (result && hasOut()) result = evaluateWithOut();
    if (result && mixesDTypes()) requireSuccess();
    // An interrupt is not the operation's.
    if (interrupted()) throw PendingPythonException();
    if (result) return *result;
    if (PyErr_ExceptionMatches(PyExc_NotImplementedError)) {
      clearException();
      breakOnData(node_);
    }
    if (standIns_.kind == Stand::Fake) return breakOnFakeFailure();
    if (isAboutMeta()) {
      if (std::optional<ResultStructure> known = resultOfChange()) return *known;
      clearException();
      breakOnData(node_);
    }
    return hearRealException();
  }

  ResultStructure runMixture() {
    isMixture_ = true;
    lookAtArguments();
    if (!onlyCpu_ || elements_ > kMostMixedElements) breakOnData(node_);
    standIns_.kind = Stand::Real;
    std::optional<ResultStructure> result = tryOut();
    if (interrupted()) throw PendingPythonException();
    return result ? *result : failed();
  }

  std::optional<ResultStructure> runOnZeros() {
    lookAtArguments();
    if (!onlyCpu_ || elements_ > kMostRealElements) return std::nullopt;
    return tryOutOnZeros();
  }

  std::optional<bool> runsOnZeros() {
    lookAtArguments();
    if (!onlyCpu_) return std::nullopt;
    standIns_.isSmall = elements_ > kMostTriedElements;
    standIns_.kind = Stand::Real;
    hearsWarnings_ = true;
    bool succeeded;
    {
      State state;
      succeeded = static_cast<bool>(call(state)) && !state.modes.heardWarning();
    }
    if (!succeeded && interrupted()) throw PendingPythonException();
    clearException();
    // Small arrays may fit together where the program's do not.
    if (standIns_.isSmall && !succeeded) return std::nullopt;
    return succeeded;
  }

 private:
  // Of the thread while we try. The levels are left before the modes are put back.
  struct State {
    ModeScope modes;
    TransformLevels levels;
  };

  // What the operation returns for what stands for its inputs; nothing where it raises, with the
  // exception set.
  std::optional<ResultStructure> tryOut() {
    State state;
    Ref<> object = call(state);
    return object ? std::optional(reader().read(object)) : std::nullopt;
  }

  // The same on zeros of the layouts of the inputs; no exception stays.
  std::optional<ResultStructure> tryOutOnZeros() {
    standIns_.kind = Stand::Real;
    std::optional<ResultStructure> result = tryOut();
    if (interrupted()) throw PendingPythonException();
    clearException();
    return result;
  }

  ResultReader reader() const {
    return ResultReader(torch_, node_, inputs_, standIns_, isMixture_);
  }

  // Does the exception complain of what stands for the program's tensors? They lack data.
  static bool isAboutMeta() {
    SetException kept;
    Ref<> text = Ref<>::steal(kept.value() ? PyObject_Str(kept.value()) : nullptr);
    clearException();
    std::string_view message = stringView(text);
    return message.find(" meta ") != std::string_view::npos || message.ends_with(" meta");
  }

  // Notes which devices and how much data the arguments mention.
  void lookAtArguments() {
    for (const Node* node : before_) lookAtArguments(*node);
    lookAtArguments(node_);
  }
  void lookAtArguments(const Node& node) {
    forEachInput(node, [&](Node* input) {
      if (!isBefore_.contains(input)) lookAt(inputs_(*input));
    });
    // Where the name of a device is exchanged for that of what stands for it.
    bool isTo = node.operation == NodeOperation::CallMethod && stringView(node.target) == "to";
    for (size_t i = 0; i < node.arguments.size(); ++i) {
      lookAt(node.arguments[i], isTo && i == 1);
    }
    for (const auto& [name, argument] : node.keywordArguments) {
      lookAt(argument, stringView(name) == "device");
    }
  }

  void lookAt(const ResultStructure& input) {
    if (input.metadata) {
      hasArrays_ = true;
      elements_ += input.metadata->numel();
      if (input.metadata->device.type != kCpuDevice) onlyCpu_ = false;
      DType dtype = input.metadata->dtype;
      if (isFloating(dtype) || isComplex(dtype)) dtypes_.insert(dtype);
    }
    for (const ResultStructure& element : input.elements) lookAt(element);
  }

  void lookAt(const Argument& argument, bool isDevice = false) {
    if (argument.kind() == Argument::Kind::Constant) lookAt(argument.object(), isDevice);
    for (const Argument& element : argument.elements()) lookAt(element);
  }

  void lookAt(BorrowedRef<> constant, bool isDevice) {
    Device device;
    if (readDevice(constant, device)) {
      namesDevice_ = true;
      if (device.type != kCpuDevice) onlyCpu_ = false;
    } else if (isDevice && PyUnicode_Check(constant.get())) {
      namesDevice_ = true;
      if (stringView(constant) != "cpu") onlyCpu_ = false;
    } else if (mayNameDevice(constant)) {
      onlyCpu_ = false;
    }
  }

  static bool needsDevice(const Node& node) {
    if (hasAutocast(node.mode) || isAllowedInGraph(node.target)) return true;
    // Its implementation is chosen by the device, and the layout of its result with it.
    return callableNames().of(node.target).name == "scaled_dot_product_attention";
  }

  // Is it so of one of the nodes that are tried out?
  template <class Predicate>
  bool isTried(Predicate predicate) const {
    return predicate(node_) ||
           llvm::any_of(before_, [&](const Node* node) { return predicate(*node); });
  }

  bool needsFake() {
    keepFunctionModes_ = !namesDevice_ && (!hasArrays_ || isDeviceConstructor()) &&
                         askFunctionModes() && !programModesAreActive();
    if (keepFunctionModes_ || !onlyCpu_ || isTried(needsDevice)) return true;
    Ref<> bindings = Ref<>::steal(PyObject_GetAttrString(torch_.torch.get(), "_C"));
    Ref<> autocast = Ref<>::steal(
        bindings ? PyObject_CallMethod(bindings.get(), "_is_any_autocast_enabled", nullptr)
                 : nullptr);
    clearException();
    return autocast && autocast.get() == Py_True;
  }

  // Does a device in force (torch.utils._device.DeviceContext) say where the result is? The one
  // that a `with` has entered is the mode itself: CURRENT_DEVICE is that of
  // torch.set_default_device.
  bool isDeviceConstructor() {
    static PyObject* const constructors = [] {
      Ref<> module = checked(cpython::importModule("torch.utils._device"));
      return checked(PyObject_CallMethod(module.get(), "_device_constructors", nullptr)).release();
    }();
    int found = PySequence_Contains(constructors, node_.target.get());
    clearUnlessInterrupted();
    return found != 0;
  }

  // The result of the operation on stand-ins; null with the exception set.
  Ref<> call(State& state) {
    ModeScope& modes = state.modes;
    standIns_.clear();
    if (!(hearsWarnings_ ? modes.hearWarnings() : modes.ignoreWarnings())) return nullptr;
    if (!modes.leaveSavedTensorHooks()) return nullptr;
    if (!modes.leaveModes(keepFunctionModes_)) return nullptr;
    // What Python functions do on their way (an operation inside of a level, what the program keeps
    // out of traces) may draw numbers on the CPU, whatever stands for the inputs.
    if (!modes.keepRandomState()) return nullptr;
    if (standIns_.kind == Stand::Fake && !(silenceFakes(modes) && modes.enter(fakeMode()))) {
      return nullptr;
    }
    // What is made inside of levels comes to arrays without memory, too.
    bool makesArrays = !before_.empty() || (!hasArrays_ && !namesDevice_);
    if (standIns_.kind == Stand::Meta && makesArrays &&
        !modes.enter(deviceObject({kMetaDevice, -1}))) {
      return nullptr;
    }
    // An input that is not a leaf needs the grad mode to become one that is not.
    if (!modes.setGradEnabled(true)) return nullptr;
    if (!before_.empty() && !doBefore(state)) return nullptr;
    return callOne(node_, state);
  }

  // Does what has to be done first. What stands for inputs is no array of any level.
  bool doBefore(State& state) {
    bool made = true;
    auto make = [&](const Node& node) {
      forEachInput(node, [&](Node* input) {
        made = made && (isBefore_.contains(input) || standIns_.of(*input));
      });
    };
    for (const Node* node : before_) make(*node);
    make(node_);
    for (const Node* node : before_) {
      Ref<> result = made ? callOne(*node, state) : nullptr;
      if (!result) return false;
      standIns_.set(*node, std::move(result));
    }
    return made;
  }

  Ref<> callOne(const Node& node, State& state) {
    Ref<> arguments = Ref<>::steal(PyTuple_New(node.arguments.size()));
    Ref<> keywords = Ref<>::steal(PyDict_New());
    if (!arguments || !keywords) return nullptr;
    for (size_t i = 0; i < node.arguments.size(); ++i) {
      Ref<> value = argument(node.arguments[i]);
      if (!value) return nullptr;
      PyTuple_SET_ITEM(arguments.get(), i, value.release());
    }
    for (const auto& [name, keyword] : node.keywordArguments) {
      Ref<> value = argument(keyword, stringView(name) == "device");
      if (!value || PyDict_SetItem(keywords.get(), name.get(), value.get()) < 0) return nullptr;
    }
    ModeScope mode;
    std::optional<cpython::PromptSignals> prompt;
    if (isAllowedInGraph(node.target)) prompt.emplace();  // It is the program's own.
    if (!state.levels.set(node.mode)) return nullptr;
    if (!enterInferenceMode(mode, node.mode)) return nullptr;
    if (!mode.setGradEnabled(hasGradients(node.mode))) return nullptr;
    if (!enterAutocast(mode, node.mode, false) || !enterSettings(mode, node.mode)) return nullptr;
    if (node.operation == NodeOperation::CallMethod) return callMethod(node, arguments, keywords);
    bool needsLeave = setsRequiresGrad(node);
    if (needsLeave && !callFunctorch("set_inplace_requires_grad_allowed", {Py_True})) {
      return nullptr;
    }
    Ref<> result = callObject(node.target, arguments, keywords);
    if (!needsLeave) return result;
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    bool isLeft = static_cast<bool>(callFunctorch("set_inplace_requires_grad_allowed", {Py_False}));
    if (isLeft && !result) {
      PyErr_Restore(type, value, traceback);
      return nullptr;
    }
    Py_XDECREF(type), Py_XDECREF(value), Py_XDECREF(traceback);
    return isLeft ? std::move(result) : nullptr;
  }

  Ref<> callMethod(const Node& node, BorrowedRef<> arguments, BorrowedRef<> keywords) {
    PyObject* self = PyTuple_GET_ITEM(arguments.get(), 0);
    std::string_view name = stringView(node.target);
    Py_ssize_t count = PyTuple_GET_SIZE(arguments.get());
    if (standIns_.kind == Stand::Meta && name == "cpu") return Ref<>::create(self);
    if (standIns_.kind == Stand::Meta && name == "to" && count > 1 &&
        stringView(PyTuple_GET_ITEM(arguments.get(), 1)) == "cpu") {
      Ref<> device = deviceObject({kMetaDevice, -1});
      if (!device || PyTuple_SetItem(arguments.get(), 1, device.release()) < 0) return nullptr;
    }
    if (PyDict_GET_SIZE(keywords.get()) == 0 && !isMixture_) {
      // As LOAD_METHOD calls it: exceptions name the class that defines the method.
      return Ref<>::steal(PyObject_VectorcallMethod(
          node.target.get(), PySequence_Fast_ITEMS(arguments.get()), count, nullptr));
    }
    Ref<> method = Ref<>::steal(PyObject_GetAttr(self, node.target.get()));
    Ref<> rest = Ref<>::steal(PyTuple_GetSlice(arguments.get(), 1, count));
    if (!method || !rest) return nullptr;
    return callObject(method, rest, keywords);
  }

  Ref<> callObject(BorrowedRef<> callable, BorrowedRef<> arguments, BorrowedRef<> keywords) const {
    for (const Library* library : registeredLibraries()) {
      if (isMixture_ && library->kind() != ArrayLibraryKind::Torch) {
        return library->callSilently(callable, arguments, keywords);
      }
    }
    return Ref<>::steal(PyObject_Call(callable.get(), arguments.get(), keywords.get()));
  }

  // They log what fails, which is the trace's affair.
  static bool silenceFakes(ModeScope& modes) {
    Ref<> module = Ref<>::steal(cpython::importModule("torch._subclasses.fake_tensor"));
    Ref<> logger = Ref<>::steal(module ? PyObject_GetAttrString(module.get(), "log") : nullptr);
    return logger && modes.silence(logger);
  }

  Ref<> fakeMode() {
    Ref<> module = Ref<>::steal(cpython::importModule("torch._subclasses.fake_tensor"));
    if (!module) return nullptr;
    Ref<> mode = Ref<>::steal(PyObject_CallMethod(module.get(), "FakeTensorMode", nullptr));
    // A function of the program's may mix them with tensors that it holds.
    bool takesReal = isTried([](const Node& node) { return isAllowedInGraph(node.target); });
    if (mode && takesReal &&
        PyObject_SetAttrString(mode.get(), "allow_non_fake_inputs", Py_True) < 0) {
      return nullptr;
    }
    return mode;
  }

  Ref<> argument(const Argument& argument, bool isDevice = false) {
    switch (argument.kind()) {
      case Argument::Kind::Constant:
        return constant(argument.object(), isDevice);
      case Argument::Kind::Node:
        return standIns_.of(*argument.node());
      default:
        break;
    }
    Ref<> elements = Ref<>::steal(PyTuple_New(argument.elements().size()));
    for (size_t i = 0; elements && i < argument.elements().size(); ++i) {
      Ref<> value = this->argument(argument.elements()[i]);
      if (!value) return nullptr;
      PyTuple_SET_ITEM(elements.get(), i, value.release());
    }
    if (!elements) return nullptr;
    if (argument.kind() == Argument::Kind::Tuple) return elements;
    if (argument.kind() == Argument::Kind::List) {
      return Ref<>::steal(PySequence_List(elements.get()));
    }
    auto item = [&](size_t i) { return PyTuple_GET_ITEM(elements.get(), i); };
    if (argument.kind() == Argument::Kind::Slice) {
      return Ref<>::steal(PySlice_New(item(0), item(1), item(2)));
    }
    Ref<> dict = Ref<>::steal(PyDict_New());
    for (size_t i = 0; dict && i < argument.elements().size(); ++i) {
      PyObject* key = PyTuple_GET_ITEM(argument.object().get(), i);
      if (PyDict_SetItem(dict.get(), key, item(i)) < 0) return nullptr;
    }
    return dict;
  }

  // Where meta tensors stand for those of the CPU, the meta device stands for the CPU.
  Ref<> constant(BorrowedRef<> object, bool isDevice) {
    Device device;
    bool namesDevice = readDevice(object, device) || (isDevice && PyUnicode_Check(object.get()));
    if (standIns_.kind == Stand::Meta && namesDevice) return deviceObject({kMetaDevice, -1});
    return Ref<>::create(object);
  }

  // What fake tensors could not do may be the program's error or theirs; nobody can tell.
  ResultStructure breakOnFakeFailure() {
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    Ref<> ownedType = Ref<>::steal(type), ownedValue = Ref<>::steal(value);
    Ref<> ownedTraceback = Ref<>::steal(traceback);
    Ref<> text = Ref<>::steal(value ? PyObject_Str(value) : nullptr);
    clearException();
    throw GraphBreak(GraphBreakKind::FakeTensorFailure, targetName(node_.target),
                     std::string(stringView(text)));
  }

  // Is one tensor given as `out`? Meta tensors do not always make of it what real ones do, in its
  // size, dtype and layout.
  bool hasOut() {
    if (standIns_.kind != Stand::Meta || !before_.empty()) return false;
    for (const auto& [name, argument] : node_.keywordArguments) {
      if (stringView(name) != "out") continue;
      for (const Argument& element : argument.elements()) requireSize(element);
      if (argument.kind() == Argument::Kind::Node) return true;
    }
    return false;
  }

  // Meta tensors do not always refuse operands of several dtypes that real ones refuse.
  bool mixesDTypes() const {
    return dtypes_.size() > 1 && onlyCpu_ && standIns_.kind == Stand::Meta && before_.empty() &&
           elements_ <= kMostRealElements;
  }
  void requireSuccess() {
    if (!tryOutOnZeros()) breakOnData(node_);
  }

  // One of several arrays goes by its own name behind the operation, and keeps its shape.
  void requireSize(const Argument& out) {
    if (out.kind() != Argument::Kind::Node) return;
    BorrowedRef<> standIn = standIns_.find(*out.node());
    if (!standIn) return;
    const TensorMetadata* before = inputs_(*out.node()).metadata.get();
    if (before && reader().metadata(standIn)->sizes == before->sizes) return;
    throw GraphBreak(GraphBreakKind::ResizedOutput, targetName(node_.target));
  }

  // What only gives back what it has changed may look at data: nothing else depends on them, unless
  // the layout does.
  std::optional<ResultStructure> resultOfChange() {
    if (!before_.empty() || !changesArgument(node_)) return std::nullopt;
    if (changesLayoutOnly(nameOf(node_))) return std::nullopt;
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    Stand stand = std::exchange(standIns_.kind, Stand::Real);
    standIns_.isSmall = true;
    std::optional<ResultStructure> result = tryOut();
    standIns_.isSmall = false;
    standIns_.kind = stand;
    bool isChanged = result && takeInputs(*result);
    if (!isChanged && !interrupted()) {
      clearException();
      PyErr_Restore(type, value, traceback);
      return std::nullopt;
    }
    Py_XDECREF(type), Py_XDECREF(value), Py_XDECREF(traceback);
    if (!isChanged) throw PendingPythonException();
    return result;
  }

  // Gives the arrays of a result, all of them inputs, the metadata of those.
  bool takeInputs(ResultStructure& result) {
    if (result.kind == ResultStructure::Kind::Constant) return result.constant.get() == Py_None;
    if (result.kind != ResultStructure::Kind::Array) {
      return llvm::all_of(result.elements, [&](ResultStructure& each) { return takeInputs(each); });
    }
    if (result.returned) result.metadata = inputs_(*result.returned).metadata;
    return result.returned && result.metadata;
  }

  ResultStructure evaluateWithOut() {
    if (elements_ > kMostRealElements) breakOnData(node_);
    std::optional<ResultStructure> result = tryOutOnZeros();
    if (!result) breakOnData(node_);
    return *result;
  }

  // The operation fails on meta tensors: with an error of the program's, whose wording real tensors
  // know best, or because it needs data.
  ResultStructure hearRealException() {
    clearException();
    if (elements_ <= kMostRealElements) standIns_.kind = Stand::Real;
    standIns_.namesParameters = true;
    hearsWarnings_ = true;
    bool succeeded, warned;
    {
      State state;
      succeeded = static_cast<bool>(call(state));
      warned = state.modes.heardWarning();
    }
    if (interrupted()) throw PendingPythonException();
    if (succeeded) breakOnData(node_);
    // A warning comes before the exception, which Python shows, records or raises.
    if (warned) {
      clearException();
      breakOnData(node_);
    }
    return failed();
  }

  const TorchModule& torch_;
  const Node& node_;
  InputStructures inputs_;
  llvm::ArrayRef<const Node*> before_;
  llvm::SmallPtrSet<const Node*, 8> isBefore_;
  StandIns standIns_;
  bool onlyCpu_ = true;
  bool hasArrays_ = false;
  bool namesDevice_ = false;
  bool keepFunctionModes_ = false;
  bool isMixture_ = false;
  bool hearsWarnings_ = false;
  Dimension elements_ = 0;
  llvm::SmallSet<DType, 2> dtypes_;  // of floating-point and complex arrays among the arguments
};

}  // namespace

ResultStructure evaluateOnMeta(const TorchModule& torch, const Node& node, InputStructures inputs,
                               llvm::ArrayRef<const Node*> before) {
  return Evaluation(torch, node, inputs, before).run();
}

ResultStructure evaluateOnReal(const TorchModule& torch, const Node& node, InputStructures inputs) {
  return Evaluation(torch, node, inputs).runMixture();
}

std::optional<ResultStructure> evaluateOnZeros(const TorchModule& torch, const Node& node,
                                               InputStructures inputs) {
  return Evaluation(torch, node, inputs).runOnZeros();
}

std::optional<bool> runsOnZeros(const TorchModule& torch, const Node& node,
                                InputStructures inputs) {
  return Evaluation(torch, node, inputs).runsOnZeros();
}

}  // namespace armature
