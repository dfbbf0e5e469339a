#include "libraries/torch/global_state.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <vector>

#include "core/ref.h"
#include "guards/version_tags.h"
#include "libraries/torch/torch_symbols.h"

namespace armature {
namespace {

// Every setting is a number. The order is that in which a change is most likely.
#define TORCH_SETTINGS(SETTING)     \
  SETTING(grad_mode)                \
  SETTING(inference_mode)           \
  SETTING(autocast_cpu)             \
  SETTING(autocast_cuda)            \
  SETTING(autocast_cpu_dtype)       \
  SETTING(autocast_cuda_dtype)      \
  SETTING(autocast_cache)           \
  SETTING(default_dtype)            \
  SETTING(default_device)           \
  SETTING(torch_function)           \
  SETTING(torch_function_modes)     \
  SETTING(torch_dispatch_modes)     \
  SETTING(deterministic_algorithms) \
  SETTING(deterministic_warn_only)  \
  SETTING(fp32_precision)           \
  SETTING(fp16_reduced_precision)   \
  SETTING(bf16_reduced_precision)   \
  SETTING(num_threads)

struct TorchState {
#define SETTING(name) int64_t name;
  TORCH_SETTINGS(SETTING)
#undef SETTING
};

// --- Asking torch's Python interface: always possible, slow.

PyObject* torchC() {
  static PyObject* const module = PyImport_ImportModule("torch._C");
  return module;
}

// The result of torch._C.name(argument) as a number: bool, int, enum or torch.dtype.
int64_t askPython(const char* name, const char* argument = nullptr) {
  Ref<> result = Ref<>::steal(argument ? PyObject_CallMethod(torchC(), name, "s", argument)
                                       : PyObject_CallMethod(torchC(), name, nullptr));
  if (result && !PyLong_Check(result.get())) {
    // An enum of pybind11, or a dtype, which is known by its name.
    Ref<> number = Ref<>::steal(PyNumber_Long(result.get()));
    if (!number) {
      PyErr_Clear();
      Ref<> text = Ref<>::steal(PyObject_Str(result.get()));
      number = Ref<>::steal(PyLong_FromSsize_t(text ? PyObject_Hash(text.get()) : -1));
    }
    result = std::move(number);
  }
  int64_t value = result ? PyLong_AsLongLong(result.get()) : -1;
  PyErr_Clear();
  return value;
}

// --- Asking torch's C++ functions.

using Context = void;

// A C++ function, and the Python function that it must agree with. Where it is missing, or did not
// agree, Python is asked.
template <class Result, class... Arguments>
struct Reader {
  const char* symbol;
  const char* pythonName;
  const char* pythonArgument = nullptr;
  Result (*function)(Arguments...) = nullptr;

  void prepare(Arguments... arguments) {
    function = torchFunction<Result(Arguments...)>(symbol);
    if (function &&
        static_cast<int64_t>(function(arguments...)) != askPython(pythonName, pythonArgument))
      function = nullptr;
  }
  int64_t operator()(Arguments... arguments) const {
    return function ? static_cast<int64_t>(function(arguments...))
                    : askPython(pythonName, pythonArgument);
  }
};

constexpr int8_t cpu = 0, cuda = 1;  // c10::DeviceType

struct Readers {
  Reader<bool> gradMode{"_ZN3c108GradMode10is_enabledEv", "is_grad_enabled"};
  Reader<bool> inferenceMode{"_ZN3c1013InferenceMode10is_enabledEv", "is_inference_mode_enabled"};
  Reader<bool, int8_t> autocastCpu{"_ZN2at8autocast19is_autocast_enabledEN3c1010DeviceTypeE",
                                   "is_autocast_enabled", "cpu"};
  Reader<bool, int8_t> autocastCuda{"_ZN2at8autocast19is_autocast_enabledEN3c1010DeviceTypeE",
                                    "is_autocast_enabled", "cuda"};
  Reader<bool> autocastCache{"_ZN2at8autocast25is_autocast_cache_enabledEv",
                             "is_autocast_cache_enabled"};
  Reader<int64_t> functionModes{"_ZN2at4impl22PythonTorchFunctionTLS9stack_lenEv",
                                "_len_torch_function_stack"};
  Reader<int64_t> dispatchModes{"_ZN3c104impl20TorchDispatchModeTLS9stack_lenEv",
                                "_len_torch_dispatch_stack"};
  Reader<int32_t> functionState{"_ZN2at4impl22PythonTorchFunctionTLS18get_disabled_stateEv",
                                "_get_torch_function_state"};
  Reader<bool, Context*> deterministic{"_ZNK2at7Context23deterministicAlgorithmsEv",
                                       "_get_deterministic_algorithms"};
  Reader<bool, Context*> warnOnly{"_ZNK2at7Context31deterministicAlgorithmsWarnOnlyEv",
                                  "_get_deterministic_algorithms_warn_only"};
  Reader<int32_t> numThreads{"_ZN2at15get_num_threadsEv", "get_num_threads"};
};

// dtypes are numbers in C++ and objects in Python.
struct DTypeReaders {
  int8_t (*autocast)(int8_t) =
      torchFunction<int8_t(int8_t)>("_ZN2at8autocast18get_autocast_dtypeEN3c1010DeviceTypeE");
  int8_t (*standard)() = torchFunction<int8_t()>("_ZN3c1031get_default_dtype_as_scalartypeEv");
};

// --- Where torch keeps the float32 precisions: an unordered_map in at::Context from (backend,
// operation) to precision, which its own accessor takes 20 ns to ask. Its nodes never move.

struct PrecisionNode {
  PrecisionNode* next;
  uint32_t backend;
  uint32_t operation;
  uint32_t precision;
};
constexpr uint32_t backends = 3, operations = 4, precisions = 5;  // ATen/Context.h

bool readMemory(const void* address, void* buffer, size_t size) {
  int memory = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
  if (memory < 0) return false;
  ssize_t count =
      pread(memory, buffer, size, static_cast<off_t>(reinterpret_cast<uintptr_t>(address)));
  close(memory);
  return count == static_cast<ssize_t>(size);
}

// The nodes of the list that begins at `first`, if it is such a map with every pair in it.
std::vector<const PrecisionNode*> precisionNodes(const PrecisionNode* first) {
  std::vector<const PrecisionNode*> found(backends * operations);
  size_t count = 0;
  PrecisionNode node;
  for (const PrecisionNode* at = first; at; at = node.next) {
    if (reinterpret_cast<uintptr_t>(at) % alignof(PrecisionNode) ||
        !readMemory(at, &node, sizeof node) || node.backend >= backends ||
        node.operation >= operations || node.precision >= precisions)
      return {};
    const PrecisionNode*& place = found[node.backend * operations + node.operation];
    if (place || ++count > found.size()) return {};
    place = at;
  }
  found.erase(std::remove(found.begin(), found.end(), nullptr), found.end());
  return found;
}

std::vector<const PrecisionNode*> findPrecisionNodes(const Context* context) {
  constexpr size_t searchedWords = 512, fewestNodes = 8;
  std::vector<const PrecisionNode*> words(searchedWords), found;
  if (!readMemory(context, words.data(), searchedWords * sizeof(void*))) return {};
  for (const PrecisionNode* first : words) {
    std::vector<const PrecisionNode*> nodes = precisionNodes(first);
    // Every node but the first is reached by a pointer in the heap, so only one word can begin the
    // whole list; the map's buckets lie apart.
    if (nodes.size() < fewestNodes || nodes.size() <= found.size()) continue;
    found = std::move(nodes);
  }
  return found;
}

struct StateReaders : Readers, DTypeReaders {
  Context* context = nullptr;
  std::vector<const PrecisionNode*> precision;
  Ref<> deviceModule;

  // The default device, as of a version of the dict of torch.utils._device.
  mutable uint64_t deviceVersion = 0;
  mutable int64_t device = -1;

  StateReaders() {
    if (auto globalContext = torchFunction<Context*()>("_ZN2at13globalContextEv"))
      context = globalContext();
    gradMode.prepare();
    inferenceMode.prepare();
    autocastCpu.prepare(cpu);
    autocastCuda.prepare(cuda);
    autocastCache.prepare();
    functionModes.prepare();
    dispatchModes.prepare();
    functionState.prepare();
    numThreads.prepare();
    if (context) {
      deterministic.prepare(context);
      warnOnly.prepare(context);
      precision = findPrecisionNodes(context);
    }
    deviceModule = Ref<>::steal(PyImport_ImportModule("torch.utils._device"));
    PyErr_Clear();
  }

  int64_t autocastDType(int8_t type) const {
    return autocast ? autocast(type)
                    : askPython("get_autocast_dtype", type == cpu ? "cpu" : "cuda");
  }
  int64_t defaultDType() const { return standard ? standard() : askPython("get_default_dtype"); }

  // Four bits for each pair.
  int64_t fp32Precision() const {
    if (precision.empty()) return askPython("_get_float32_matmul_precision");
    uint64_t packed = 0;
    for (const PrecisionNode* node : precision) packed = packed << 4 | node->precision;
    return static_cast<int64_t>(packed);
  }

  // torch.utils._device.CURRENT_DEVICE; -1 for None.
  int64_t defaultDevice() const {
    if (!deviceModule) return -1;
    auto* names = reinterpret_cast<PyDictObject*>(PyModule_GetDict(deviceModule.get()));
    uint64_t version = contentVersion(names);
    if (version && version == deviceVersion) return device;
    device = -1;
    PyObject* current = PyDict_GetItemString(reinterpret_cast<PyObject*>(names), "CURRENT_DEVICE");
    if (current && current != Py_None) {
      Py_hash_t hash = PyObject_Hash(current);  // torch.device: of its type and index
      if (hash == -1) PyErr_Clear();
      device = hash;
    }
    deviceVersion = version;
    return device;
  }
};

StateReaders& readers() {
  static StateReaders& instance = *new StateReaders;
  return instance;
}

TorchState readState() {
  const StateReaders& read = readers();
  TorchState state;
  state.grad_mode = read.gradMode();
  state.inference_mode = read.inferenceMode();
  state.autocast_cpu = read.autocastCpu(cpu);
  state.autocast_cuda = read.autocastCuda(cuda);
  state.autocast_cpu_dtype = read.autocastDType(cpu);
  state.autocast_cuda_dtype = read.autocastDType(cuda);
  state.autocast_cache = read.autocastCache();
  state.default_dtype = read.defaultDType();
  state.default_device = read.defaultDevice();
  state.torch_function = read.functionState();
  state.torch_function_modes = read.functionModes();
  state.torch_dispatch_modes = read.dispatchModes();
  state.deterministic_algorithms = read.deterministic(read.context);
  state.deterministic_warn_only = read.warnOnly(read.context);
  state.fp32_precision = read.fp32Precision();
  state.fp16_reduced_precision = 0;
  state.bf16_reduced_precision = 0;
  state.num_threads = read.numThreads();
  return state;
}

TorchState parse(const std::string& state) {
  TorchState result{};
  if (state.size() == sizeof result) std::memcpy(&result, state.data(), sizeof result);
  return result;
}

}  // namespace

void prepareTorchState() { readers(); }

std::string captureTorchState() {
  TorchState state = readState();
  return std::string(reinterpret_cast<const char*>(&state), sizeof state);
}

bool torchStateMatches(const std::string& state) {
  TorchState now = readState();
  return state.size() == sizeof now && std::memcmp(state.data(), &now, sizeof now) == 0;
}

std::string explainTorchState(const std::string& state) {
  TorchState expected = parse(state), now = readState();
  std::string text;
  auto compare = [&](const char* name, int64_t wanted, int64_t found) {
    if (wanted != found)
      text += (text.empty() ? "" : "; ") + std::string(name) + ": expected " +
              std::to_string(wanted) + ", found " + std::to_string(found);
  };
#define SETTING(name) compare(#name, expected.name, now.name);
  TORCH_SETTINGS(SETTING)
#undef SETTING
  return text;
}

}  // namespace armature
