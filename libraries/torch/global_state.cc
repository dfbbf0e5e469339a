#include "libraries/torch/global_state.h"

#include <array>
#include <bit>
#include <cstdint>
#include <vector>

#include "core/pending_python_exception.h"
#include "core/ref.h"
#include "cpython/imported_modules.h"
#include "cpython/instance_attributes.h"
#include "cpython/version_tags.h"
#include "libraries/torch/dtypes.h"
#include "libraries/torch/float32_precision.h"
#include "libraries/torch/thread_state.h"
#include "libraries/torch/torch_module.h"
#include "libraries/torch/torch_symbols.h"
#include "libraries/verification.h"

namespace armature {
namespace {

// Every setting is a number.
struct Modes {
#define SETTING(name) int64_t name;
  TORCH_MODES(SETTING)
  bool operator==(const Modes&) const = default;
};

struct Options {
  TORCH_OPTIONS(SETTING)
#undef SETTING
  bool operator==(const Options&) const = default;
};

constexpr size_t kAskedCount = 0
#define SETTING(name) +1
    TORCH_ASKED(SETTING);
#undef SETTING

constexpr auto kFirstAsked = static_cast<unsigned>(TorchSetting::autocast_device_dtypes);
constexpr uint64_t kAllAsked = ~uint64_t{0} << kFirstAsked;

struct TorchState {
  ThreadWords words;
  Modes modes;
  Options options;
  uint64_t asked;                            // bits of those that follow
  std::array<int64_t, kAskedCount> answers;  // 0 for those that are not asked
};

// --- Asking torch's Python interface: always possible, slow.

// The result of torch._C.name(argument) as a number, from a bool, int, enum, dtype or tuple of
// them.
int64_t numberOf(BorrowedRef<> result) {
  if (PyTuple_Check(result)) {
    int64_t packed = 0;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(result.get()); ++i)
      packed = packed * 2 + numberOf(PyTuple_GET_ITEM(result.get(), i));
    return packed;
  }
  DType dtype = dtypeNumber(result);
  if (dtype >= 0) return dtype;
  Ref<> number = Ref<>::steal(PyNumber_Long(result));
  return number ? PyLong_AsLongLong(number.get()) : -1;
}

Ref<> callBinding(const char* name, const char* argument = nullptr) {
  static PyObject* const torchC = cpython::importModule("torch._C");
  return Ref<>::steal(argument ? PyObject_CallMethod(torchC, name, "s", argument)
                               : PyObject_CallMethod(torchC, name, nullptr));
}

// -1 where this torch has no such function.
int64_t askPython(const char* name, const char* argument = nullptr) {
  Ref<> result = callBinding(name, argument);
  int64_t value = result ? numberOf(result) : -1;
  clearException();
  return value;
}

// What autocast does on each kind of device that it knows.
template <class Ask>
int64_t overAutocastDevices(Ask ask) {
  static const auto& devices = *new std::vector<const char*>([] {
    std::vector<const char*> known;
    for (const char* name :
         {"cpu", "cuda", "xpu", "mps", "mtia", "hpu", "xla", "ipu", "maia", "privateuseone"}) {
      if (askPython("_is_autocast_available", name) == 1) known.push_back(name);
    }
    return known;
  }());
  uint64_t packed = 1;
  for (const char* device : devices) packed = packed * 64 + static_cast<uint64_t>(ask(device) + 1);
  return static_cast<int64_t>(packed);
}

// --- Asking torch's C++ functions.

using Context = void;

template <class Function>
Function* symbolFor(const char* name) {
  return trusts("torch.symbols") ? torchFunction<Function>(name) : nullptr;
}

// A C++ function, and the Python function that it must agree with. Where the one is missing, or did
// not agree, the other is asked.
template <class Result, class... Arguments>
struct Reader {
  const char* symbol;
  const char* pythonName;
  const char* pythonArgument = nullptr;
  Result (*function)(Arguments...) = nullptr;

  void prepare(Arguments... arguments) {
    function = symbolFor<Result(Arguments...)>(symbol);
    if (function && function(arguments...) != askPython(pythonName, pythonArgument))
      function = nullptr;
  }
  int64_t operator()(Arguments... arguments) const {
    return function ? function(arguments...) : askPython(pythonName, pythonArgument);
  }
};

constexpr int8_t cpu = 0, cuda = 1;  // c10::DeviceType
constexpr const char* autocastEnabled = "_ZN2at8autocast19is_autocast_enabledEN3c1010DeviceTypeE";
constexpr const char* autocastDType = "_ZN2at8autocast18get_autocast_dtypeEN3c1010DeviceTypeE";

class Readers {
 public:
  Readers() {
    if (auto globalContext = symbolFor<Context*()>("_ZN2at13globalContextEv"))
      context_ = globalContext();
    gradMode_.prepare();
    inferenceMode_.prepare();
    autocastCpu_.prepare(cpu);
    autocastCuda_.prepare(cuda);
    functionModes_.prepare();
    dispatchModes_.prepare();
    functionState_.prepare();
    autocastCpuDType_.prepare(cpu);
    autocastCudaDType_.prepare(cuda);
    autocastCache_.prepare();
    numThreads_.prepare();
    defaultDType_ = symbolFor<int8_t()>("_ZN3c1031get_default_dtype_as_scalartypeEv");
    if (context_) {
      deterministic_.prepare(context_);
      warnOnly_.prepare(context_);
      fp16_ = symbolFor<uint8_t(Context*)>("_ZNK2at7Context24allowFP16ReductionCuBLASEv");
      bf16_ = symbolFor<uint8_t(Context*)>("_ZNK2at7Context24allowBF16ReductionCuBLASEv");
      precision_.find(context_);
    }
    deviceModule_ = Ref<>::steal(cpython::importModule("torch.utils._device"));
    if (!deviceModule_) clearUnlessInterrupted();
    hasThreadWords_ = prepareThreadWords();
  }

  bool hasThreadWords() const { return hasThreadWords_; }

  Modes modes() const {
    return {.grad_mode = gradMode_(),
            .inference_mode = inferenceMode_(),
            .autocast_cpu = autocastCpu_(cpu),
            .autocast_cuda = autocastCuda_(cuda),
            .autocast_devices = overAutocastDevices(
                [](const char* device) { return askPython("is_autocast_enabled", device); }),
            .jit_tracing = askPython("_is_tracing"),
            .torch_function = functionState_(),
            .torch_function_modes = functionModes_(),
            .function_mode_kinds = static_cast<int64_t>(askFunctionModes()),
            .torch_dispatch_modes = dispatchModes_()};
  }

  bool dispatchModesAreActive() const { return dispatchModes_() > 0; }

  bool programModesAreActive() const {
    if (dispatchModesAreActive()) return true;
    int64_t count = functionModes_();
    if (count == 0) return false;
    Ref<> contextType = Ref<>::steal(
        deviceModule_ ? PyObject_GetAttrString(deviceModule_.get(), "DeviceContext") : nullptr);
    Ref<> bindings = Ref<>::steal(cpython::importModule("torch._C"));
    bool areDevices = contextType && bindings;
    for (int64_t i = 0; areDevices && i < count; ++i) {
      Ref<> mode = Ref<>::steal(PyObject_CallMethod(bindings.get(), "_get_function_stack_at", "L",
                                                    static_cast<long long>(i)));
      areDevices = mode && reinterpret_cast<PyObject*>(Py_TYPE(mode.get())) == contextType.get();
    }
    clearUnlessInterrupted();
    return !areDevices;
  }

  Options options() const {
    return {.autocast_cpu_dtype = autocastCpuDType_(cpu),
            .autocast_cuda_dtype = autocastCudaDType_(cuda),
            .autocast_cache = autocastCache_(),
            .default_dtype = defaultDType_ ? defaultDType_() : askDefaultDType(),
            .default_device = defaultDevice(),
            .deterministic_algorithms = deterministic_(context_),
            .deterministic_warn_only = warnOnly_(context_),
            .fp32_precision = fp32Precision(),
            .fp16_reduced_precision = fp16Reduction(),
            .bf16_reduced_precision = bf16Reduction(),
            .num_threads = numThreads_()};
  }

  // options() == expected, one after the other: each call asks.
  bool optionsAre(const Options& expected) const {
    static_assert(sizeof(Options) == 11 * sizeof(int64_t));
    return expected.autocast_cpu_dtype == autocastCpuDType_(cpu) &&
           expected.autocast_cuda_dtype == autocastCudaDType_(cuda) &&
           expected.autocast_cache == autocastCache_() &&
           expected.default_dtype == (defaultDType_ ? defaultDType_() : askDefaultDType()) &&
           expected.default_device == defaultDevice() &&
           expected.deterministic_algorithms == deterministic_(context_) &&
           expected.deterministic_warn_only == warnOnly_(context_) &&
           expected.fp32_precision == fp32Precision() &&
           expected.fp16_reduced_precision == fp16Reduction() &&
           expected.bf16_reduced_precision == bf16Reduction() &&
           expected.num_threads == numThreads_();
  }

 private:
  int64_t fp16Reduction() const {
    return fp16_ ? fp16_(context_)
                 : askPython("_get_cublas_allow_fp16_reduced_precision_reduction");
  }
  int64_t bf16Reduction() const {
    return bf16_ ? bf16_(context_)
                 : askPython("_get_cublas_allow_bf16_reduced_precision_reduction");
  }
  int64_t fp32Precision() const {
    return precision_.found() ? static_cast<int64_t>(precision_.packed()) : askFloat32Precision();
  }

  // "highest", "high" or "medium": their first and third letters tell.
  static int64_t askFloat32Precision() {
    Ref<> name = callBinding("_get_float32_matmul_precision");
    std::string_view text = stringView(name);
    return text.size() > 2 ? text[0] << 8 | text[2] : -1;
  }

  static int64_t askDefaultDType() {
    Ref<> dtype = callBinding("get_default_dtype");
    clearException();
    return dtype ? dtypeNumber(dtype) : -1;
  }

  // torch.utils._device.CURRENT_DEVICE: type and index; -1 for None. Looked at again only when that
  // module has changed.
  int64_t defaultDevice() const {
    if (!deviceModule_) return -1;
    auto* names = reinterpret_cast<PyDictObject*>(PyModule_GetDict(deviceModule_.get()));
    uint64_t version = cpython::contentVersion(names);
    if (version && version == deviceVersion_) return device_;
    PyObject* current = PyDict_GetItemString(reinterpret_cast<PyObject*>(names), "CURRENT_DEVICE");
    Device device;
    device_ = current && readDevice(current, device)
                  ? (static_cast<int64_t>(device.type) << 8) + device.index
                  : -1;
    deviceVersion_ = version;
    return device_;
  }

  Context* context_ = nullptr;
  Reader<bool> gradMode_{"_ZN3c108GradMode10is_enabledEv", "is_grad_enabled"};
  Reader<bool> inferenceMode_{"_ZN3c1013InferenceMode10is_enabledEv", "is_inference_mode_enabled"};
  Reader<bool, int8_t> autocastCpu_{autocastEnabled, "is_autocast_enabled", "cpu"};
  Reader<bool, int8_t> autocastCuda_{autocastEnabled, "is_autocast_enabled", "cuda"};
  Reader<int64_t> functionModes_{"_ZN2at4impl22PythonTorchFunctionTLS9stack_lenEv",
                                 "_len_torch_function_stack"};
  Reader<int64_t> dispatchModes_{"_ZN3c104impl20TorchDispatchModeTLS9stack_lenEv",
                                 "_len_torch_dispatch_stack"};
  Reader<int32_t> functionState_{"_ZN2at4impl22PythonTorchFunctionTLS18get_disabled_stateEv",
                                 "_get_torch_function_state"};
  Reader<int8_t, int8_t> autocastCpuDType_{autocastDType, "get_autocast_dtype", "cpu"};
  Reader<int8_t, int8_t> autocastCudaDType_{autocastDType, "get_autocast_dtype", "cuda"};
  Reader<bool> autocastCache_{"_ZN2at8autocast25is_autocast_cache_enabledEv",
                              "is_autocast_cache_enabled"};
  Reader<bool, Context*> deterministic_{"_ZNK2at7Context23deterministicAlgorithmsEv",
                                        "_get_deterministic_algorithms"};
  Reader<bool, Context*> warnOnly_{"_ZNK2at7Context31deterministicAlgorithmsWarnOnlyEv",
                                   "_get_deterministic_algorithms_warn_only"};
  Reader<int32_t> numThreads_{"_ZN2at15get_num_threadsEv", "get_num_threads"};
  int8_t (*defaultDType_)() = nullptr;
  uint8_t (*fp16_)(Context*) = nullptr;
  uint8_t (*bf16_)(Context*) = nullptr;
  Float32Precision precision_;
  Ref<> deviceModule_;
  mutable uint64_t deviceVersion_ = 0;
  mutable int64_t device_ = -1;
  bool hasThreadWords_ = false;
};

// --- What only programs that ask depend on: always through Python.

// An attribute of a module that is imported, else null. Borrowed.
PyObject* moduleAttribute(const char* module, const char* name) {
  PyObject* dict = TorchModule::modules().dictOf(module);
  PyObject* value = dict ? PyDict_GetItemString(dict, name) : nullptr;
  clearException();
  return value;
}

// An attribute of an object's own dict, else null. Borrowed.
PyObject* ownAttribute(PyObject* object, const char* name) {
  PyObject* dict = object ? cpython::materializedInstanceDict(object) : nullptr;
  PyObject* value = dict ? PyDict_GetItemString(dict, name) : nullptr;
  clearException();
  return value;
}

// torch.onnx's two flags.
int64_t onnxExport() {
  PyObject* globals =
      moduleAttribute("torch.onnx._internal.torchscript_exporter._globals", "GLOBALS");
  bool exports =
      ownAttribute(globals, "_in_onnx_export") == Py_True ||
      moduleAttribute("torch.onnx._internal.exporter._flags", "_is_onnx_exporting") == Py_True;
  return exports;
}

// The rank and the size of the default process group; -1 where there is none.
int64_t processGroup() {
  PyObject* world = moduleAttribute("torch.distributed.distributed_c10d", "_world");
  PyObject* group = ownAttribute(world, "_default_pg");
  if (!group || group == Py_None) return -1;
  Ref<> kept = Ref<>::create(group);
  auto number = [&](const char* method) {
    Ref<> result = Ref<>::steal(PyObject_CallMethod(kept.get(), method, nullptr));
    int64_t value = result ? PyLong_AsLongLong(result.get()) : -1;
    clearException();
    return value;
  };
  return number("rank") << 32 | number("size");
}

// How many levels of torch.func are entered, and whether hooks on saved tensors are refused.
int64_t transformLevels() {
  auto ask = [](const char* module, const char* function) {
    Ref<> found = Ref<>::steal(cpython::importModule(module));
    Ref<> result =
        Ref<>::steal(found ? PyObject_CallMethod(found.get(), function, nullptr) : nullptr);
    clearException();
    return result;
  };
  Ref<> depth = ask("torch._C._functorch", "get_dynamic_layer_stack_depth");
  Ref<> message = ask("torch._C._autograd", "_saved_tensors_hooks_get_disabled_error_message");
  Ref<> forward = ask("torch._C", "_is_fwd_grad_enabled");
  int64_t levels = depth ? PyLong_AsLongLong(depth.get()) : -1;
  clearException();
  return levels << 2 | (forward.get() == Py_True) << 1 | (message && message.get() != Py_None);
}

int64_t answer(TorchSetting setting) {
  switch (setting) {
    case TorchSetting::autocast_device_dtypes:
      return overAutocastDevices(
          [](const char* device) { return askPython("get_autocast_dtype", device); });
    case TorchSetting::anomaly_mode:
      return askPython("is_anomaly_enabled");
    case TorchSetting::anomaly_check_nan:
      return askPython("is_anomaly_check_nan_enabled");
    case TorchSetting::warn_always:
      return askPython("_get_warnAlways");
    case TorchSetting::num_interop_threads:
      return askPython("get_num_interop_threads");
    case TorchSetting::flash_sdp:
      return askPython("_get_flash_sdp_enabled");
    case TorchSetting::math_sdp:
      return askPython("_get_math_sdp_enabled");
    case TorchSetting::mem_efficient_sdp:
      return askPython("_get_mem_efficient_sdp_enabled");
    case TorchSetting::cudnn_sdp:
      return askPython("_get_cudnn_sdp_enabled");
    case TorchSetting::overrideable_sdp:
      return askPython("_get_overrideable_sdp_enabled");
    case TorchSetting::math_sdp_reduction:
      return askPython("_get_math_sdp_allow_fp16_bf16_reduction");
    case TorchSetting::cudnn_enabled:
      return askPython("_get_cudnn_enabled");
    case TorchSetting::cudnn_benchmark:
      return askPython("_get_cudnn_benchmark");
    case TorchSetting::cudnn_deterministic:
      return askPython("_get_cudnn_deterministic");
    case TorchSetting::mkldnn_enabled:
      return askPython("_get_mkldnn_enabled");
    case TorchSetting::cuda_device:
      return askPython("_cuda_getDevice");
    case TorchSetting::cuda_initialized:
      return moduleAttribute("torch.cuda", "_initialized") == Py_True;
    case TorchSetting::onnx_export:
      return onnxExport();
    case TorchSetting::process_group:
      return processGroup();
    case TorchSetting::transform_levels:
      return transformLevels();
    default:
      return 0;
  }
}

// Calls `use(index, now)` for each setting that is asked, while it returns true.
template <class Use>
bool forEachAsked(uint64_t asked, Use use) {
  for (asked &= kAllAsked; asked; asked &= asked - 1) {
    auto number = static_cast<unsigned>(std::countr_zero(asked));
    if (number - kFirstAsked >= kAskedCount) break;
    if (!use(number - kFirstAsked, answer(static_cast<TorchSetting>(number)))) return false;
  }
  return true;
}

const Readers& readers() {
  static const Readers& instance = *new Readers;  // torch outlives us
  return instance;
}

// A state as captured; its text is long enough to lie on the heap, and thereby aligned.
const TorchState* parse(const std::string& state) {
  static_assert(sizeof(TorchState) > 2 * sizeof(std::string));
  return state.size() == sizeof(TorchState) ? reinterpret_cast<const TorchState*>(state.data())
                                            : nullptr;
}

// The modes of the thread, whose words these are if they are known. To ask for them is slow, and
// while the words stand, so do the modes.
Modes modesOf(const ThreadWords& words) {
  static struct {
    ThreadWords words;
    Modes modes;
    bool isKnown = false;
  } last;
  if (last.isKnown && last.words == words) return last.modes;
  Modes modes = readers().modes();
  if (readers().hasThreadWords()) last = {words, modes, true};
  return modes;
}

}  // namespace

std::vector<const char*> torchSettingNames(uint64_t settings) {
  static constexpr const char* kNames[] = {
#define SETTING(name) #name,
      TORCH_MODES(SETTING) TORCH_OPTIONS(SETTING) TORCH_ASKED(SETTING)
#undef SETTING
  };
  std::vector<const char*> names;
  for (; settings; settings &= settings - 1) {
    names.push_back(kNames[std::countr_zero(settings)]);
  }
  return names;
}

void prepareTorchState() { readers(); }

bool dispatchModesAreActive() { return readers().dispatchModesAreActive(); }

bool programModesAreActive() { return readers().programModesAreActive(); }

std::string captureTorchState(uint64_t asked) {
  TorchState state{};
  if (readers().hasThreadWords()) state.words = threadWords();
  state.modes = modesOf(state.words);
  state.options = readers().options();
  state.asked = asked & kAllAsked;
  forEachAsked(asked, [&](size_t index, int64_t now) {
    state.answers[index] = now;
    return true;
  });
  return std::string(reinterpret_cast<const char*>(&state), sizeof state);
}

bool torchStateMatches(const std::string& state) {
  const TorchState* expected = parse(state);
  if (!expected) return false;
  const Readers& read = readers();
  bool modesMatch =
      read.hasThreadWords() ? expected->words == threadWords() : expected->modes == read.modes();
  return modesMatch && read.optionsAre(expected->options) &&
         forEachAsked(expected->asked,
                      [&](size_t index, int64_t now) { return expected->answers[index] == now; });
}

std::string explainTorchState(const std::string& state) {
  const TorchState* expected = parse(state);
  if (!expected) return "the state is not one of this version";
  Modes modes = readers().modes();
  Options options = readers().options();
  std::string text;
  auto compare = [&](const char* name, int64_t wanted, int64_t found) {
    if (wanted != found)
      text += (text.empty() ? "" : "; ") + std::string(name) + ": expected " +
              std::to_string(wanted) + ", found " + std::to_string(found);
  };
#define SETTING(name) compare(#name, expected->modes.name, modes.name);
  TORCH_MODES(SETTING)
#undef SETTING
#define SETTING(name) compare(#name, expected->options.name, options.name);
  TORCH_OPTIONS(SETTING)
#undef SETTING
  static constexpr const char* kAskedNames[] = {
#define SETTING(name) #name,
      TORCH_ASKED(SETTING)
#undef SETTING
  };
  forEachAsked(expected->asked, [&](size_t index, int64_t now) {
    compare(kAskedNames[index], expected->answers[index], now);
    return true;
  });
  if (text.empty() && readers().hasThreadWords() && !(expected->words == threadWords()))
    text = "the thread's dispatch keys differ";
  return text;
}

}  // namespace armature
