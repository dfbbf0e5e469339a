#include "libraries/torch/thread_state.h"

#include <array>
#include <cstddef>
#include <cstring>

#include <llvm/ADT/Hashing.h>

#include "core/checked.h"
#include "core/pending_python_exception.h"
#include "core/ref.h"
#include "cpython/imported_modules.h"
#include "guards/object_access.h"
#include "libraries/torch/mode_scope.h"
#include "libraries/torch/torch_symbols.h"
#include "libraries/verification.h"

namespace armature {
namespace {

// A std::shared_ptr<c10::SafePyObject>; what it points to begins with the object.
struct ModePointer {
  PyObject* const* object;
  void* count;
};

// at::impl::PythonTorchFunctionTLS (ATen/PythonTorchFunctionTLS.h).
struct TorchFunctionState {
  int32_t disabled;
  bool skipNext;
  const ModePointer *modesBegin, *modesEnd, *modesCapacity;
};

// c10::AutogradState; which of its bytes holds the flags is searched.
constexpr size_t autogradBytes = 40;
using AutogradImage = std::array<uint8_t, autogradBytes>;

struct Functions {
  uint8_t* (*autogradState)() =
      torchFunction<uint8_t*()>("_ZN3c1013AutogradState13get_tls_stateEv");
  const TorchFunctionState* (*torchFunctionState)() =
      torchFunction<const TorchFunctionState*()>("_ZN2at4impl22PythonTorchFunctionTLS9get_stateEv");
  size_t autogradFlags = 0;

  // A symbol of a thread-local variable leads dlsym to that of the calling thread.
  static const uint64_t* dispatchKeys() {
    return static_cast<const uint64_t*>(torchSymbol("_ZN3c104impl26raw_local_dispatch_key_setE"));
  }
};

Functions& functions() {
  static Functions instance;
  return instance;
}

// This thread's variables. They live as long as the thread.
struct Places {
  const uint64_t* dispatchKeys = nullptr;
  const uint8_t* autogradFlags = nullptr;
  const TorchFunctionState* torchFunction = nullptr;
};

thread_local Places places;

__attribute__((noinline)) void findPlaces() {
  places.torchFunction = functions().torchFunctionState();
  places.autogradFlags = functions().autogradState() + functions().autogradFlags;
  places.dispatchKeys = Functions::dispatchKeys();
}

// torch.utils._device.DeviceContext
PyObject* deviceContextType() {
  static PyObject* const type = [] {
    Ref<> module = Ref<>::steal(cpython::importModule("torch.utils._device"));
    PyObject* found = module ? PyObject_GetAttrString(module.get(), "DeviceContext") : nullptr;
    clearException();
    return found;
  }();
  return type;
}

// One mode more into the fingerprint. The types that we have seen stay alive, so that no other type
// can have the address; there are few.
uint64_t mixMode(uint64_t fingerprint, BorrowedRef<> mode) {
  static PyObject* const known = PySet_New(nullptr);
  static PyObject* const deviceName = staticName("device");
  auto* type = reinterpret_cast<PyObject*>(Py_TYPE(mode.get()));
  PySet_Add(known, type);
  uint64_t mixed = llvm::hash_combine(fingerprint, type);
  if (type != deviceContextType()) return mixed;
  // A torch.device's hash is its type and index.
  PyObject* device = instanceAttribute(mode, deviceName, PyObject_Hash(deviceName));
  return llvm::hash_combine(mixed, device ? PyObject_Hash(device) : -1);
}

__attribute__((noinline)) uint64_t functionModes(const TorchFunctionState& state) {
  uint64_t fingerprint = 1;
  for (const ModePointer* mode = state.modesBegin; mode != state.modesEnd; ++mode)
    fingerprint = mixMode(fingerprint, *mode->object);
  return fingerprint;
}

// What the probes push; made beforehand, since their constructors are Python code.
constexpr const char* objectsProgram = R"(
import torch.overrides
import torch.utils._device
import torch.utils._python_dispatch
objects = (
    torch.overrides.BaseTorchFunctionMode(),
    torch.utils._device.DeviceContext('meta'),
    torch.utils._python_dispatch.TorchDispatchMode(),
)
)";

AutogradImage autogradImage() {
  AutogradImage image;
  std::memcpy(image.data(), functions().autogradState(), image.size());
  return image;
}

// The first probe changes the grad mode, and nothing else in the autograd state.
bool findAutogradFlags(const AutogradImage& before, const AutogradImage& after) {
  size_t differences = 0;
  for (size_t i = 0; i < before.size(); ++i)
    if (before[i] != after[i]) {
      functions().autogradFlags = i;
      ++differences;
    }
  return differences == 1;
}

bool isOn(const char* query, const char* argument = nullptr) {
  static PyObject* const torchC = checked(cpython::importModule("torch._C")).release();
  Ref<> result = Ref<>::steal(argument ? PyObject_CallMethod(torchC, query, "s", argument)
                                       : PyObject_CallMethod(torchC, query, nullptr));
  clearException();
  return result.get() == Py_True;
}

// Changes one mode after the other; do the words differ each time, and are they back at the end?
bool probe(PyObject* objects) {
  auto object = [&](Py_ssize_t i) { return PyTuple_GET_ITEM(objects, i); };
  AutogradImage before = autogradImage();
  {
    ModeScope scope;
    if (!scope.setGradEnabled(!isOn("is_grad_enabled")) ||
        !findAutogradFlags(before, autogradImage())) {
      return false;
    }
  }
  findPlaces();
  ThreadWords unchanged = threadWords();
  auto shows = [&](auto change) {
    ModeScope scope;
    if (!change(scope)) return false;
    ThreadWords changed = threadWords();
    return !(changed == unchanged) && changed.functionModes == askFunctionModes();
  };
  auto autocast = [](const char* device) {
    return [device](ModeScope& scope) {
      return scope.setAutocast(device, !isOn("is_autocast_enabled", device));
    };
  };
  bool showsAll =
      shows([](ModeScope& scope) { return scope.setGradEnabled(!isOn("is_grad_enabled")); }) &&
      shows(autocast("cpu")) && shows(autocast("cuda")) &&
      shows([&](ModeScope& scope) { return scope.pushFunctionMode(object(0)); }) &&
      shows([&](ModeScope& scope) { return scope.pushFunctionMode(object(1)); }) &&
      shows([&](ModeScope& scope) { return scope.pushDispatchMode(object(2)); }) &&
      shows([](ModeScope& scope) {
        PyObject* other = isOn("is_inference_mode_enabled") ? Py_False : Py_True;
        return scope.enterBinding("_InferenceMode", other);
      }) &&
      shows([](ModeScope& scope) { return scope.enterBinding("DisableTorchFunction"); }) &&
      shows([](ModeScope& scope) { return scope.enterBinding("DisableTorchFunctionSubclass"); });
  return showsAll && threadWords() == unchanged && autogradImage() == before;
}

}  // namespace

bool prepareThreadWords() {
  if (!trusts("torch.thread_words")) return false;
  if (!functions().autogradState || !functions().torchFunctionState || !Functions::dispatchKeys())
    return false;
  Ref<> names = checked(PyDict_New());
  PyDict_SetItemString(names.get(), "__builtins__", PyEval_GetBuiltins());
  Ref<> done = Ref<>::steal(PyRun_String(objectsProgram, Py_file_input, names.get(), names.get()));
  bool proved = done && probe(PyDict_GetItemString(names.get(), "objects"));
  clearUnlessInterrupted();
  return proved;
}

ThreadWords threadWords() {
  if (!places.dispatchKeys) findPlaces();
  const Places& here = places;
  bool anyModes = here.torchFunction->modesBegin != here.torchFunction->modesEnd;
  return {.includedKeys = here.dispatchKeys[0],
          .excludedKeys = here.dispatchKeys[1],
          .autograd = *here.autogradFlags,
          .torchFunction = static_cast<uint64_t>(here.torchFunction->disabled),
          .functionModes = anyModes ? functionModes(*here.torchFunction) : 0};
}

uint64_t askFunctionModes() {
  static PyObject* const torchC = checked(cpython::importModule("torch._C")).release();
  Ref<> count = Ref<>::steal(PyObject_CallMethod(torchC, "_len_torch_function_stack", nullptr));
  Py_ssize_t size = count ? PyLong_AsSsize_t(count.get()) : 0;
  uint64_t fingerprint = size > 0;
  for (Py_ssize_t i = 0; i < size; ++i) {
    Ref<> mode = Ref<>::steal(PyObject_CallMethod(torchC, "_get_function_stack_at", "n", i));
    if (mode) fingerprint = mixMode(fingerprint, mode);
  }
  clearException();
  return fingerprint;
}

}  // namespace armature
