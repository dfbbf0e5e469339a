#include "libraries/torch/meta_evaluation.h"

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/SmallPtrSet.h>

#include <optional>
#include <string>
#include <utility>

#include "core/constant.h"
#include "core/graph_break.h"
#include "core/pending_python_exception.h"
#include "guards/array_library.h"
#include "libraries/torch/allowed_functions.h"
#include "libraries/torch/autocast.h"
#include "libraries/torch/callable_names.h"
#include "libraries/torch/changed_arguments.h"
#include "libraries/torch/dtypes.h"
#include "libraries/torch/function_transforms.h"
#include "libraries/torch/mode_scope.h"
#include "libraries/torch/settings.h"
#include "libraries/torch/transform_levels.h"

namespace armature {

namespace {

// What stands in for the inputs.
enum class Stand : uint8_t {
  Meta,  // meta tensors: shapes only, quick; for operations on the CPU
  Fake,  // fake tensors: shapes and devices, slow
  Real,  // zeros on the CPU, to hear the very exception that the program would see
};

// Of real inputs together; an operation on more is not tried.
constexpr int64_t kMostRealElements = 1 << 20;
constexpr int64_t kMostTriedElements = 1 << 12;
constexpr int64_t kMostMixedElements = 1 << 26;

const char* operationText(const Node& node, std::string& buffer) {
  buffer = targetName(node.target);
  return buffer.c_str();
}

[[noreturn]] void breakOnData(const Node& node) {
  std::string name;
  throw GraphBreak(GraphBreakKind::DataDependentOperator, operationText(node, name));
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
        isBefore_(before.begin(), before.end()) {}

  ResultStructure run() {
    lookAtArguments();
    stand_ = needsFake() ? Stand::Fake : Stand::Meta;
    std::optional<ResultStructure> result = tryOut();
    if (result && resizesOut()) result = evaluateResized();
    // An interrupt is not the operation's.
    if (interrupted()) throw PendingPythonException();
    if (result) return *result;
    if (PyErr_ExceptionMatches(PyExc_NotImplementedError)) {
      PyErr_Clear();
      breakOnData(node_);
    }
    if (stand_ == Stand::Fake) return breakOnFakeFailure();
    if (std::optional<ResultStructure> known = resultOfChange()) return *known;
    if (isAboutMeta()) {
      PyErr_Clear();
      breakOnData(node_);
    }
    return hearRealException();
  }

  ResultStructure runMixture() {
    isMixture_ = true;
    lookAtArguments();
    if (!onlyCpu_ || elements_ > kMostMixedElements) breakOnData(node_);
    stand_ = Stand::Real;
    std::optional<ResultStructure> result = tryOut();
    if (interrupted()) throw PendingPythonException();
    return result ? *result : failed();
  }

  std::optional<bool> runsOnZeros() {
    lookAtArguments();
    if (!onlyCpu_) return std::nullopt;
    isSmall_ = elements_ > kMostTriedElements;
    stand_ = Stand::Real;
    warningsAreErrors_ = true;
    bool succeeded;
    {
      State state;
      succeeded = static_cast<bool>(call(state));
    }
    if (!succeeded && interrupted()) throw PendingPythonException();
    PyErr_Clear();
    // Small arrays may fit together where the program's do not.
    if (isSmall_ && !succeeded) return std::nullopt;
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
    return object ? std::optional(structure(object)) : std::nullopt;
  }

  // Does the exception complain of what stands for the program's tensors? They lack data.
  static bool isAboutMeta() {
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    Ref<> text = Ref<>::steal(value ? PyObject_Str(value) : nullptr);
    PyErr_Clear();
    std::string_view message = stringView(text);
    bool result = message.find(" meta ") != std::string_view::npos || message.ends_with(" meta");
    PyErr_Restore(type, value, traceback);
    return result;
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
    for (const Argument& argument : node.arguments) lookAt(argument);
    for (const auto& [name, argument] : node.keywordArguments) {
      lookAt(argument);
      if (stringView(name) == "device" && argument.kind() == Argument::Kind::Constant) {
        lookAtDeviceName(argument.object());
      }
    }
    if (node.operation == NodeOperation::CallMethod && stringView(node.target) == "to" &&
        node.arguments.size() > 1 && node.arguments[1].kind() == Argument::Kind::Constant) {
      lookAtDeviceName(node.arguments[1].object());
    }
  }

  void lookAt(const ResultStructure& input) {
    if (input.metadata) {
      hasArrays_ = true;
      elements_ += input.metadata->numel();
      if (input.metadata->device.type != kCpuDevice) onlyCpu_ = false;
    }
    for (const ResultStructure& element : input.elements) lookAt(element);
  }

  void lookAt(const Argument& argument) {
    Device device;
    if (argument.kind() == Argument::Kind::Constant && readDevice(argument.object(), device)) {
      namesDevice_ = true;
      if (device.type != kCpuDevice) onlyCpu_ = false;
    }
    for (const Argument& element : argument.elements()) lookAt(element);
  }

  void lookAtDeviceName(BorrowedRef<> object) {
    if (!PyUnicode_Check(object.get())) return;
    namesDevice_ = true;
    if (stringView(object) != "cpu") onlyCpu_ = false;
  }

  bool needsFake() {
    if (!onlyCpu_ || hasAutocast(node_.mode) || isAllowedInGraph(node_.target)) return true;
    // Its implementation is chosen by the device, and the layout of its result with it.
    if (callableNames().of(node_.target).name == "scaled_dot_product_attention") return true;
    Ref<> bindings = Ref<>::steal(PyObject_GetAttrString(torch_.torch.get(), "_C"));
    Ref<> autocast = Ref<>::steal(
        bindings ? PyObject_CallMethod(bindings.get(), "_is_any_autocast_enabled", nullptr)
                 : nullptr);
    if (autocast && autocast.get() == Py_True) return true;
    if (!hasArrays_ && !namesDevice_) {
      Ref<> standard = defaultDevice();
      Device device;
      keepFunctionModes_ = standard && readDevice(standard, device) && device.type != kCpuDevice;
    }
    PyErr_Clear();
    return keepFunctionModes_;
  }

  // What torch.set_default_device set; None without it. (torch.get_default_device is a call that
  // the program's modes would see.)
  static Ref<> defaultDevice() {
    Ref<> module = Ref<>::steal(PyImport_ImportModule("torch.utils._device"));
    return Ref<>::steal(module ? PyObject_GetAttrString(module.get(), "CURRENT_DEVICE") : nullptr);
  }

  // The result of the operation on stand-ins; null with the exception set.
  Ref<> call(State& state) {
    ModeScope& modes = state.modes;
    standIns_.clear();
    if (!modes.setWarnings(warningsAreErrors_ ? "error" : "ignore")) return nullptr;
    if (!modes.leaveSavedTensorHooks()) return nullptr;
    if (!modes.leaveModes(keepFunctionModes_)) return nullptr;
    // What Python functions do on their way (an operation inside of a level, what the program keeps
    // out of traces) may draw numbers on the CPU, whatever stands for the inputs.
    if (!modes.keepRandomState()) return nullptr;
    if (stand_ == Stand::Fake && !modes.enter(fakeMode())) return nullptr;
    // What is made inside of levels comes to arrays without memory, too.
    bool makesArrays = !before_.empty() || (!hasArrays_ && !namesDevice_);
    if (stand_ == Stand::Meta && makesArrays && !modes.enter(deviceObject({kMetaDevice, -1}))) {
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
        made = made && (isBefore_.contains(input) || standIn(*input));
      });
    };
    for (const Node* node : before_) make(*node);
    make(node_);
    for (const Node* node : before_) {
      Ref<> result = made ? callOne(*node, state) : nullptr;
      if (!result) return false;
      standIns_[node] = std::move(result);
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
    if (!state.levels.set(node.mode)) return nullptr;
    if (!mode.setGradEnabled(hasGradients(node.mode))) return nullptr;
    if (!enterAutocast(mode, node.mode, false) || !enterSettings(mode, node.mode)) return nullptr;
    if (node.operation == NodeOperation::CallMethod) return callMethod(node, arguments, keywords);
    bool needsLeave = setsRequiresGrad(node);
    if (needsLeave && !callFunctorch("set_inplace_requires_grad_allowed", {Py_True})) {
      return nullptr;
    }
    Ref<> result = callObject(node.target, arguments, keywords);
    if (needsLeave && !callFunctorch("set_inplace_requires_grad_allowed", {Py_False})) {
      return nullptr;
    }
    return result;
  }

  Ref<> callMethod(const Node& node, BorrowedRef<> arguments, BorrowedRef<> keywords) {
    PyObject* self = PyTuple_GET_ITEM(arguments.get(), 0);
    std::string_view name = stringView(node.target);
    Py_ssize_t count = PyTuple_GET_SIZE(arguments.get());
    if (stand_ == Stand::Meta && name == "cpu") return Ref<>::create(self);
    if (stand_ == Stand::Meta && name == "to" && count > 1 &&
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

  Ref<> fakeMode() {
    Ref<> module = Ref<>::steal(PyImport_ImportModule("torch._subclasses.fake_tensor"));
    if (!module) return nullptr;
    Ref<> mode = Ref<>::steal(PyObject_CallMethod(module.get(), "FakeTensorMode", nullptr));
    // A function of the program's may mix them with tensors that it holds.
    bool takesReal = isAllowedInGraph(node_.target);
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
        return standIn(*argument.node());
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
    if (stand_ == Stand::Meta && namesDevice) return deviceObject({kMetaDevice, -1});
    return Ref<>::create(object);
  }

  Ref<> standIn(const Node& node) {
    Ref<>& object = standIns_[&node];
    if (object) return object;
    const ResultStructure& structure = inputs_(node);
    object = structureObject(structure);
    const TensorMetadata* metadata = structure.metadata.get();
    bool isInput = node.operation == NodeOperation::Placeholder;
    bool isLeafView =
        metadata && metadata->requiresGrad && metadata->isLeaf && metadata->mayBeView && !isInput;
    // Only without gradients do operations make a view that is a leaf.
    ModeScope gradMode;
    if (!object || !isLeafView || !gradMode.setGradEnabled(false)) return object;
    object = Ref<>::steal(PyObject_CallMethod(object.get(), "view_as", "O", object.get()));
    return object;
  }

  Ref<> structureObject(const ResultStructure& input) {
    if (input.kind == ResultStructure::Kind::Array) return tensor(*input.metadata);
    if (input.kind == ResultStructure::Kind::Constant) return input.constant;
    Ref<> list = Ref<>::steal(PyList_New(0));
    for (const ResultStructure& element : input.elements) {
      Ref<> value = structureObject(element);
      if (!value || PyList_Append(list.get(), value.get()) < 0) return nullptr;
    }
    if (input.kind == ResultStructure::Kind::List) return list;
    PyObject* type = input.type ? input.type.get() : reinterpret_cast<PyObject*>(&PyTuple_Type);
    return Ref<>::steal(PyObject_CallOneArg(type, list.get()));
  }

  // Whether a tensor is one of inference mode depends on where it was made.
  Ref<> tensor(const TensorMetadata& metadata) {
    if (metadata.library != ArrayLibraryKind::Torch) {
      return findLibrary(metadata.library)->standIn(metadata);
    }
    ModeScope mode;
    PyObject* isInference = metadata.isInference ? Py_True : Py_False;
    bool isDifferent = metadata.isInference != isInferenceMode();
    if (isDifferent && !mode.enterBinding("_InferenceMode", isInference)) return nullptr;
    return tensorInMode(metadata);
  }

  bool isInferenceMode() const {
    Ref<> enabled =
        Ref<>::steal(PyObject_CallMethod(torch_.torch.get(), "is_inference_mode_enabled", nullptr));
    PyErr_Clear();
    return enabled.get() == Py_True;
  }

  // The same array with two elements where it has more, and contiguous.
  static TensorMetadata small(TensorMetadata metadata) {
    for (Dimension& size : metadata.sizes) {
      if (size.value() > 2) size = 2;
    }
    metadata.storageOffset = 0;
    setContiguousStrides(metadata);
    return metadata;
  }

  Ref<> tensorInMode(const TensorMetadata& metadata) {
    if (isSmall_) {
      isSmall_ = false;
      Ref<> tensor = tensorInMode(small(metadata));
      isSmall_ = true;
      return tensor;
    }
    Device device = metadata.device;
    if (stand_ == Stand::Meta) device = {kMetaDevice, -1};
    Ref<> function = Ref<>::steal(PyObject_GetAttrString(torch_.torch.get(), "empty_strided"));
    Ref<> arguments = Ref<>::steal(Py_BuildValue("(NN)", integers(metadata.sizes).release(),
                                                 integers(metadata.strides).release()));
    Ref<> dtype = dtypeObject(metadata.dtype);
    Ref<> where = deviceObject(device);
    if (!function || !arguments || !dtype || !where) return nullptr;
    Ref<> keywords =
        Ref<>::steal(Py_BuildValue("{sOsO}", "dtype", dtype.get(), "device", where.get()));
    if (!keywords) return nullptr;
    Ref<> tensor = Ref<>::steal(PyObject_Call(function.get(), arguments.get(), keywords.get()));
    if (tensor && metadata.storageOffset != 0) tensor = shifted(tensor, metadata);
    if (tensor && stand_ == Stand::Real) tensor = method(tensor, "zero_");
    bool isLeaf = metadata.isLeaf;
    if (tensor && metadata.requiresGrad && !isLeaf && !giveHistory(tensor, dtype, where)) {
      PyErr_Clear();
      isLeaf = true;
    }
    if (tensor && metadata.isConjugate) tensor = method(tensor, "conj");
    if (tensor && metadata.isNegative) tensor = method(tensor, "_neg_view");
    if (!tensor || !metadata.requiresGrad || !isLeaf) return tensor;
    tensor = method(tensor, "requires_grad_");
    if (!tensor || metadata.isLeaf) return tensor;
    // Memory that overlaps cannot be changed in place, so that a view of it is as good.
    return Ref<>::steal(PyObject_CallMethod(tensor.get(), "view_as", "O", tensor.get()));
  }

  // Lets the tensor begin where the metadata say in its memory, without making it a view.
  Ref<> shifted(const Ref<>& tensor, const TensorMetadata& metadata) const {
    Dimension end = metadata.storageOffset;
    end += 1;
    for (size_t i = 0; i < metadata.sizes.size(); ++i) {
      if (metadata.sizes[i] == 0) continue;
      Dimension extent = metadata.sizes[i];
      extent += -1;
      extent *= metadata.strides[i];
      end += extent;
    }
    if (stand_ == Stand::Real && end > kMostRealElements) return tensor;
    Ref<> size = Ref<>::steal(PyTuple_New(1));
    if (!size) return nullptr;
    PyTuple_SET_ITEM(size.get(), 0, PyLong_FromLongLong(end.value()));
    Ref<> memory = Ref<>::steal(PyObject_CallMethod(tensor.get(), "new_empty", "O", size.get()));
    Ref<> storage = memory ? method(memory, "untyped_storage") : nullptr;
    if (!storage) return nullptr;
    return Ref<>::steal(PyObject_CallMethod(tensor.get(), "set_", "OLNN", storage.get(),
                                            static_cast<long long>(metadata.storageOffset.value()),
                                            integers(metadata.sizes).release(),
                                            integers(metadata.strides).release()));
  }

  // Makes the tensor the result of an operation of autograd, and no view: views of leaves refuse
  // operations in place that others allow. False with an exception set if torch cannot do so.
  bool giveHistory(const Ref<>& tensor, const Ref<>& dtype, const Ref<>& device) const {
    Ref<> zeros = Ref<>::steal(PyObject_GetAttrString(torch_.torch.get(), "zeros"));
    Ref<> keywords = Ref<>::steal(Py_BuildValue("{sOsOsO}", "dtype", dtype.get(), "device",
                                                device.get(), "requires_grad", Py_True));
    Ref<> arguments = Ref<>::steal(Py_BuildValue("(())"));
    if (!zeros || !keywords || !arguments) return false;
    Ref<> leaf = Ref<>::steal(PyObject_Call(zeros.get(), arguments.get(), keywords.get()));
    return leaf && Ref<>::steal(PyObject_CallMethod(tensor.get(), "add_", "O", leaf.get()));
  }

  static Ref<> method(const Ref<>& object, const char* name) {
    return Ref<>::steal(PyObject_CallMethod(object.get(), name, nullptr));
  }

  static Ref<> integers(const Dimensions& values) {
    Ref<> tuple = Ref<>::steal(PyTuple_New(values.size()));
    for (size_t i = 0; tuple && i < values.size(); ++i) {
      PyTuple_SET_ITEM(tuple.get(), i, PyLong_FromLongLong(values[i].value()));
    }
    return tuple;
  }

  ResultStructure structure(BorrowedRef<> object) {
    ResultStructure result;
    const Library* other = isMixture_ ? libraryOfArrays(Py_TYPE(object.get())) : nullptr;
    bool isForeign = other && other->kind() != ArrayLibraryKind::Torch;
    if (isForeign) result.metadata = other->describe(object);
    if (PyObject_TypeCheck(object.get(), torch_.tensorType.get())) {
      result.metadata = metadata(object);
    }
    if (result.metadata) {
      // The first of those that give this very array.
      for (const auto& [node, standIn] : standIns_) {
        bool isFirst = !result.returned || node->index < result.returned->index;
        if (standIn.get() == object.get() && isFirst) result.returned = node;
      }
      return result;
    }
    if (PyTuple_Check(object.get()) || PyList_CheckExact(object.get())) {
      bool isTuple = PyTuple_Check(object.get());
      result.kind = isTuple ? ResultStructure::Kind::Tuple : ResultStructure::Kind::List;
      if (isTuple) result.type = Ref<>::create(reinterpret_cast<PyObject*>(Py_TYPE(object.get())));
      for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(object.get()); ++i) {
        result.elements.push_back(structure(PySequence_Fast_GET_ITEM(object.get(), i)));
      }
      return result;
    }
    result.kind = ResultStructure::Kind::Constant;
    Device device;
    bool isMeta = stand_ == Stand::Meta && readDevice(object, device);
    result.constant = isMeta ? deviceObject({}) : Ref<>::create(object);
    // Anything else may hold stand-ins, or be changed.
    if (!isConstant(result.constant)) {
      std::string name;
      throw GraphBreak(GraphBreakKind::UnsupportedResult, operationText(node_, name),
                       "The operation returns an object of another class.");
    }
    return result;
  }

  // Autograd does not know all views: those of inference mode, of unsafe_chunk.
  bool sharesMemory(BorrowedRef<> tensor) const {
    for (const auto& [node, object] : standIns_) {
      if (object.get() != tensor.get() && sharesMemory(tensor, object)) return true;
    }
    return false;
  }

  bool sharesMemory(BorrowedRef<> tensor, BorrowedRef<> other) const {
    if (PyObject_TypeCheck(other.get(), torch_.tensorType.get())) {
      Ref<> isAlias = Ref<>::steal(
          PyObject_CallFunctionObjArgs(torch_.isAliasOf.get(), tensor.get(), other.get(), nullptr));
      return !isAlias || isAlias.get() != Py_False;
    }
    bool isSequence = PyTuple_Check(other.get()) || PyList_Check(other.get());
    for (Py_ssize_t i = 0; isSequence && i < PySequence_Fast_GET_SIZE(other.get()); ++i) {
      if (sharesMemory(tensor, PySequence_Fast_GET_ITEM(other.get(), i))) return true;
    }
    return false;
  }

  std::shared_ptr<const TensorMetadata> metadata(BorrowedRef<> tensor) {
    auto result = std::make_shared<TensorMetadata>();
    std::string why = "torch is not registered with the guards";
    const ArrayLibrary* library = arrayLibrary(ArrayLibraryKind::Torch);
    bool isWrapped = stand_ == Stand::Fake || isOfTransform(node_);
    bool read = isWrapped ? readFake(tensor, *result, &why)
                          : library && library->read(tensor, *result, &why);
    if (!read) {
      PyErr_Clear();
      std::string name;
      throw GraphBreak(GraphBreakKind::UnsupportedResult, operationText(node_, name),
                       "The operation returns a tensor that a graph cannot describe: " + why + ".");
    }
    Ref<> isView = Ref<>::steal(PyObject_CallMethod(tensor.get(), "_is_view", nullptr));
    result->mayBeView = isMixture_ || !isView || isView.get() != Py_False || sharesMemory(tensor);
    PyErr_Clear();
    result->isParameter = Py_TYPE(tensor.get()) == torch_.parameterType.get();
    // An operation in place returns what stood for its argument.
    for (const auto& [node, object] : standIns_) {
      if (object.get() != tensor.get() || isBefore_.contains(node)) continue;
      const ResultStructure& input = inputs_(*node);
      if (!input.metadata) continue;
      result->mayBeView = input.metadata->mayBeView;
      result->isParameter = input.metadata->isParameter;
    }
    // Meta tensors stood for the CPU's.
    if (stand_ == Stand::Meta) result->device = {};
    result->dispatchKeys = 0;
    return result;
  }

  // The own attributes of a fake tensor, or of one that is wrapped for a level, are the truth, not
  // what its implementation holds.
  static bool readFake(BorrowedRef<> tensor, TensorMetadata& metadata, std::string* why) {
    auto attribute = [&](const char* name) {
      return Ref<>::steal(PyObject_GetAttrString(tensor.get(), name));
    };
    auto isTrue = [&](const char* name) {
      Ref<> value = attribute(name);
      if (value && PyCallable_Check(value.get())) {
        value = Ref<>::steal(PyObject_CallNoArgs(value.get()));
      }
      return value && value.get() == Py_True;
    };
    auto readIntegers = [](const Ref<>& sequence, Dimensions& into) {
      if (!sequence || !PyTuple_Check(sequence.get())) return false;
      for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(sequence.get()); ++i) {
        into.push_back(PyLong_AsLongLong(PyTuple_GET_ITEM(sequence.get(), i)));
      }
      return !PyErr_Occurred();
    };
    *why = "its attributes cannot be read";
    Ref<> dtype = attribute("dtype");
    Ref<> device = attribute("device");
    if (!dtype || !device || !readDevice(device, metadata.device)) return false;
    metadata.dtype = dtypeNumber(dtype);
    metadata.requiresGrad = isTrue("requires_grad");
    metadata.isLeaf = isTrue("is_leaf");
    metadata.isInference = isTrue("is_inference");
    metadata.isConjugate = isTrue("is_conj");
    metadata.isNegative = isTrue("is_neg");
    Ref<> stride = Ref<>::steal(PyObject_CallMethod(tensor.get(), "stride", nullptr));
    Ref<> offset = Ref<>::steal(PyObject_CallMethod(tensor.get(), "storage_offset", nullptr));
    if (!stride || !offset || !readIntegers(attribute("shape"), metadata.sizes) ||
        !readIntegers(stride, metadata.strides)) {
      return false;
    }
    metadata.storageOffset = PyLong_AsLongLong(offset.get());
    return !PyErr_Occurred();
  }

  // What fake tensors could not do may be the program's error or theirs; nobody can tell.
  ResultStructure breakOnFakeFailure() {
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    Ref<> ownedType = Ref<>::steal(type), ownedValue = Ref<>::steal(value);
    Ref<> ownedTraceback = Ref<>::steal(traceback);
    Ref<> text = Ref<>::steal(value ? PyObject_Str(value) : nullptr);
    PyErr_Clear();
    std::string name;
    throw GraphBreak(GraphBreakKind::FakeTensorFailure, operationText(node_, name),
                     std::string(stringView(text)));
  }

  // Was the tensor given as `out` of another shape than the result? Then it has the result's now.
  bool resizesOut() {
    if (stand_ != Stand::Meta || !before_.empty()) return false;
    for (const auto& [name, argument] : node_.keywordArguments) {
      if (stringView(name) != "out") continue;
      for (const Argument& element : argument.elements()) requireSize(element);
      if (argument.kind() != Argument::Kind::Node) continue;
      auto standIn = standIns_.find(argument.node());
      const TensorMetadata* before = inputs_(*argument.node()).metadata.get();
      if (standIn == standIns_.end() || !before) continue;
      return !(metadata(standIn->second)->sizes == before->sizes);
    }
    return false;
  }

  // One of several arrays goes by its own name behind the operation, and keeps its shape.
  void requireSize(const Argument& out) {
    auto standIn =
        out.kind() == Argument::Kind::Node ? standIns_.find(out.node()) : standIns_.end();
    if (standIn == standIns_.end()) return;
    const TensorMetadata* before = inputs_(*out.node()).metadata.get();
    if (before && metadata(standIn->second)->sizes == before->sizes) return;
    std::string name;
    throw GraphBreak(GraphBreakKind::ResizedOutput, operationText(node_, name));
  }

  // What only gives back what it has changed may look at data: nothing else depends on them.
  std::optional<ResultStructure> resultOfChange() {
    if (!before_.empty() || !changesArgument(node_)) return std::nullopt;
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    Stand stand = std::exchange(stand_, Stand::Real);
    isSmall_ = true;
    std::optional<ResultStructure> result = tryOut();
    isSmall_ = false;
    stand_ = stand;
    bool isChanged = result && takeInputs(*result);
    if (!isChanged && !interrupted()) {
      PyErr_Clear();
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

  // Of a tensor that is resized, the layout depends on the device: meta tensors become contiguous,
  // real ones like the operands.
  ResultStructure evaluateResized() {
    if (elements_ > kMostRealElements) breakOnData(node_);
    stand_ = Stand::Real;
    std::optional<ResultStructure> result = tryOut();
    if (interrupted()) throw PendingPythonException();
    PyErr_Clear();
    if (!result) breakOnData(node_);
    return *result;
  }

  // The operation fails on meta tensors: with an error of the program's, whose wording real tensors
  // know best, or because it needs data.
  ResultStructure hearRealException() {
    if (elements_ > kMostRealElements) return failed();
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    Ref<> ownedType = Ref<>::steal(type), ownedValue = Ref<>::steal(value);
    Ref<> ownedTraceback = Ref<>::steal(traceback);
    stand_ = Stand::Real;
    bool succeeded;
    {
      State state;
      succeeded = static_cast<bool>(call(state));
    }
    if (interrupted()) throw PendingPythonException();
    if (succeeded) breakOnData(node_);
    return failed();
  }

  const TorchModule& torch_;
  const Node& node_;
  InputStructures inputs_;
  llvm::ArrayRef<const Node*> before_;
  llvm::SmallPtrSet<const Node*, 8> isBefore_;
  Stand stand_ = Stand::Meta;
  bool onlyCpu_ = true;
  bool hasArrays_ = false;
  bool namesDevice_ = false;
  bool keepFunctionModes_ = false;
  bool isMixture_ = false;
  bool warningsAreErrors_ = false;
  bool isSmall_ = false;  // The arrays that stand for others are smaller.
  Dimension elements_ = 0;
  llvm::DenseMap<const Node*, Ref<>> standIns_;
};

}  // namespace

ResultStructure evaluateOnMeta(const TorchModule& torch, const Node& node, InputStructures inputs,
                               llvm::ArrayRef<const Node*> before) {
  return Evaluation(torch, node, inputs, before).run();
}

ResultStructure evaluateOnReal(const TorchModule& torch, const Node& node, InputStructures inputs) {
  return Evaluation(torch, node, inputs).runMixture();
}

std::optional<bool> runsOnZeros(const TorchModule& torch, const Node& node,
                                InputStructures inputs) {
  return Evaluation(torch, node, inputs).runsOnZeros();
}

}  // namespace armature
