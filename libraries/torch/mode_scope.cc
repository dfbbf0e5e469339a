#include "libraries/torch/mode_scope.h"

#include <llvm/ADT/DenseMap.h>

#include <string_view>

#include "core/checked.h"
#include "core/pending_python_exception.h"
#include "cpython/imported_modules.h"

namespace armature {

namespace {

PyObject* bindings() {
  static PyObject* const module = checked(cpython::importModule("torch._C")).release();
  return module;
}

// What torch._C has under the name, a literal. Null with an exception set; throws nothing, as a
// destructor asks.
Ref<> binding(const char* name) {
  static auto* const names = new llvm::DenseMap<const char*, PyObject*>(64);  // room for them all
  PyObject*& interned = (*names)[name];
  if (!interned) interned = PyUnicode_InternFromString(name);
  return interned ? Ref<>::steal(PyObject_GetAttr(bindings(), interned)) : nullptr;
}

template <class... Arguments>
Ref<> callBinding(const char* name, Arguments... arguments) {
  Ref<> function = binding(name);
  if (!function) return nullptr;
  return Ref<>::steal(PyObject_CallFunctionObjArgs(function.get(), arguments..., nullptr));
}

// The same, where failing says that this torch has no such thing.
template <class... Arguments>
Ref<> ask(const char* name, Arguments... arguments) {
  Ref<> result = callBinding(name, arguments...);
  clearException();
  return result;
}

Ref<> text(const char* value) { return Ref<>::steal(PyUnicode_InternFromString(value)); }

Py_ssize_t lengthOf(const char* stackLength) {
  Ref<> length = ask(stackLength);
  Py_ssize_t count = length ? PyLong_AsSsize_t(length.get()) : 0;
  clearException();
  return count;
}

std::vector<Ref<>> stack(const char* length, const char* elementAt) {
  std::vector<Ref<>> modes;
  for (Py_ssize_t i = 0; i < lengthOf(length); ++i) {
    Ref<> index = checked(PyLong_FromSsize_t(i));
    if (Ref<> mode = ask(elementAt, index.get())) modes.push_back(std::move(mode));
  }
  return modes;
}

bool same(const std::vector<Ref<>>& left, const std::vector<Ref<>>& right) {
  bool equal = left.size() == right.size();
  for (size_t i = 0; equal && i < left.size(); ++i) equal = left[i].get() == right[i].get();
  return equal;
}

std::vector<Ref<>> functionStack() {
  return stack("_len_torch_function_stack", "_get_function_stack_at");
}

std::vector<Ref<>> dispatchStack() {
  return stack("_len_torch_dispatch_stack", "_get_dispatch_stack_at");
}

// The one function takes the key of a mode, which None leaves open; the other takes nothing.
Ref<> popFrom(const char* pop) {
  bool isDispatch = std::string_view(pop) == "_pop_torch_dispatch_stack";
  return isDispatch ? ask(pop, Py_None) : ask(pop);
}

void restoreStack(const std::vector<Ref<>>& wanted, std::vector<Ref<>> (*now)(), const char* pop,
                  const char* push) {
  std::vector<Ref<>> found = now();
  if (same(found, wanted)) return;
  for (size_t i = 0; i < found.size(); ++i) popFrom(pop);
  for (const Ref<>& mode : wanted) ask(push, mode.get());
}

// torch.utils._device, whose CURRENT_DEVICE is set while a device is the default.
PyObject* deviceNames() { return TorchModule::modules().dictOf("torch.utils._device"); }

PyObject* currentDevice() {
  PyObject* names = deviceNames();
  PyObject* device = names ? PyDict_GetItemString(names, "CURRENT_DEVICE") : nullptr;
  clearException();
  return device;
}

PyObject* autogradBinding(const char* name) {
  Ref<> module = checked(PyObject_GetAttrString(bindings(), "_autograd"));
  return checked(PyObject_GetAttrString(module.get(), name)).release();
}

// What it was before; null with an exception set on failure.
Ref<> setHooksTracing(PyObject* isTracing) {
  static PyObject* const function = autogradBinding("_saved_tensors_hooks_set_tracing");
  return Ref<>::steal(PyObject_CallOneArg(function, isTracing));
}

Ref<> defaultGenerator() {
  return Ref<>::steal(PyObject_GetAttrString(bindings(), "default_generator"));
}

}  // namespace

bool hasSavedTensorHooks() {
  static PyObject* const function = autogradBinding("_top_saved_tensors_default_hooks");
  Ref<> hooks = Ref<>::steal(PyObject_CallOneArg(function, Py_True));
  clearUnlessInterrupted();
  if (hooks.get() == Py_None) return false;
  PyObject* pack = hooks && PyTuple_Check(hooks.get()) && PyTuple_GET_SIZE(hooks.get()) > 0
                       ? PyTuple_GET_ITEM(hooks.get(), 0)
                       : nullptr;
  bool isTorchs = pack && PyFunction_Check(pack) && !TorchModule::modules().definedIn(pack).empty();
  return !isTorchs;
}

ModeScope::ModeScope()
    : gradEnabled_(ask("is_grad_enabled")),
      onlyLiftsCpu_(ask("_only_lift_cpu_tensors")),
      currentDevice_(Ref<>::create(currentDevice())),
      functionModes_(functionStack()),
      dispatchModes_(dispatchStack()) {}

ModeScope::~ModeScope() {
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  while (!contexts_.empty()) {
    Ref<> context = std::move(contexts_.back());
    contexts_.pop_back();
    Ref<> left = Ref<>::steal(
        PyObject_CallMethod(context.get(), "__exit__", "OOO", Py_None, Py_None, Py_None));
    bool isFirst = !left && !type && interrupted();
    if (isFirst) PyErr_Fetch(&type, &value, &traceback);
    clearException();
  }
  putBack();
  clearException();
  PyErr_Restore(type, value, traceback);
}

namespace {

constexpr const char* kShowsWarnings = "_showwarnmsg";

PyObject* warningsVariables() {
  static PyObject* const module = checked(cpython::importModule("warnings")).release();
  return PyModule_GetDict(module);
}

// By all scopes, under the GIL.
int64_t warningsHeard = 0;

PyObject* hearWarning(PyObject*, PyObject*) {
  ++warningsHeard;
  Py_RETURN_NONE;
}

}  // namespace

void ModeScope::putBack() {
  if (randomState_) {
    if (Ref<> generator = defaultGenerator()) {
      Ref<>::steal(PyObject_CallMethod(generator.get(), "set_state", "O", randomState_.get()));
    }
    clearException();
  }
  if (filter_) {
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(filters_.get()); ++i) {
      if (PyList_GET_ITEM(filters_.get(), i) != filter_.get()) continue;
      PyList_SetSlice(filters_.get(), i, i + 1, nullptr);
      break;
    }
  }
  if (showsWarnings_) {
    PyDict_SetItemString(warningsVariables(), kShowsWarnings, showsWarnings_.get());
  }
  for (; !calls_.empty(); calls_.pop_back()) {
    const Call& call = calls_.back();
    Ref<>::steal(PyObject_Call(call.function.get(), call.arguments.get(), call.keywords.get()));
    clearException();
  }
  if (hooksWereTracing_) setHooksTracing(hooksWereTracing_.get());
  if (warnsAlways_) ask("_set_warnAlways", warnsAlways_.get());
  restoreStack(dispatchModes_, dispatchStack, "_pop_torch_dispatch_stack",
               "_push_on_torch_dispatch_stack");
  restoreStack(functionModes_, functionStack, "_pop_torch_function_stack",
               "_push_on_torch_function_stack");
  if (currentDevice_ && currentDevice() != currentDevice_.get()) {
    PyDict_SetItemString(deviceNames(), "CURRENT_DEVICE", currentDevice_.get());
  }
  for (; !autocast_.empty(); autocast_.pop_back()) {
    const Autocast& before = autocast_.back();
    ask("set_autocast_enabled", before.device.get(), before.enabled.get());
    ask("set_autocast_dtype", before.device.get(), before.dtype.get());
  }
  if (cacheEnabled_) ask("set_autocast_cache_enabled", cacheEnabled_.get());
  if (onlyLiftsCpu_ && ask("_only_lift_cpu_tensors").get() != onlyLiftsCpu_.get()) {
    ask("_set_only_lift_cpu_tensors", onlyLiftsCpu_.get());
  }
  if (gradEnabled_ && ask("is_grad_enabled").get() != gradEnabled_.get()) {
    ask("_set_grad_enabled", gradEnabled_.get());
  }
}

bool ModeScope::setGradEnabled(bool enabled) {
  return static_cast<bool>(callBinding("_set_grad_enabled", enabled ? Py_True : Py_False));
}

bool ModeScope::setAutocast(const char* device, bool enabled) {
  Ref<> name = text(device);
  Ref<> dtype = name ? callBinding("get_autocast_dtype", name.get()) : nullptr;
  Ref<> cache = callBinding("is_autocast_cache_enabled");
  return dtype && cache && setAutocast(name, enabled ? Py_True : Py_False, dtype, cache);
}

bool ModeScope::setAutocast(BorrowedRef<> device, BorrowedRef<> enabled, BorrowedRef<> dtype,
                            BorrowedRef<> cacheEnabled) {
  Ref<> wasEnabled = callBinding("is_autocast_enabled", device.get());
  Ref<> wasDType = callBinding("get_autocast_dtype", device.get());
  if (!cacheEnabled_) cacheEnabled_ = callBinding("is_autocast_cache_enabled");
  if (!wasEnabled || !wasDType || !cacheEnabled_) return false;
  autocast_.push_back({Ref<>::create(device), std::move(wasEnabled), std::move(wasDType)});
  return callBinding("set_autocast_enabled", device.get(), enabled.get()) &&
         callBinding("set_autocast_dtype", device.get(), dtype.get()) &&
         callBinding("set_autocast_cache_enabled", cacheEnabled.get());
}

bool ModeScope::pushFunctionMode(BorrowedRef<> mode) {
  return static_cast<bool>(callBinding("_push_on_torch_function_stack", mode.get()));
}

bool ModeScope::pushDispatchMode(BorrowedRef<> mode) {
  return static_cast<bool>(callBinding("_push_on_torch_dispatch_stack", mode.get()));
}

bool ModeScope::leaveModes(bool keepFunctionModes) {
  for (size_t i = 0; i < dispatchModes_.size(); ++i) {
    if (!callBinding("_pop_torch_dispatch_stack", Py_None)) return false;
  }
  if (keepFunctionModes || functionModes_.empty()) return true;
  return enterBinding("DisableTorchFunction");
}

bool ModeScope::enter(Ref<> contextManager) {
  if (!contextManager) return false;
  Ref<> entered = Ref<>::steal(PyObject_CallMethod(contextManager.get(), "__enter__", nullptr));
  if (!entered) return false;
  contexts_.push_back(std::move(contextManager));
  return true;
}

bool ModeScope::enterBinding(const char* name, PyObject* argument) {
  return enter(argument ? callBinding(name, argument) : callBinding(name));
}

bool ModeScope::leaveSavedTensorHooks() {
  hooksWereTracing_ = setHooksTracing(Py_True);
  return static_cast<bool>(hooksWereTracing_);
}

bool ModeScope::setWarnings(const char* action) {
  warnsAlways_ = callBinding("_get_warnAlways");
  if (!warnsAlways_ || !callBinding("_set_warnAlways", Py_True)) return false;
  // The list itself: warnings.simplefilter() would make every module forget what it has warned of.
  PyObject* filters = PyDict_GetItemString(warningsVariables(), "filters");
  if (!filters || !PyList_CheckExact(filters)) return true;
  Ref<> filter = Ref<>::steal(Py_BuildValue("(sOOOi)", action, Py_None, PyExc_Warning, Py_None, 0));
  if (!filter || PyList_Insert(filters, 0, filter.get()) < 0) return false;
  filters_ = Ref<>::create(filters);
  filter_ = std::move(filter);
  return true;
}

bool ModeScope::hearWarnings() {
  static PyMethodDef method = {kShowsWarnings, hearWarning, METH_O, nullptr};
  static PyObject* const hearer = checked(PyCFunction_New(&method, nullptr)).release();
  if (!setWarnings("always")) return false;
  heardBefore_ = warningsHeard;
  showsWarnings_ = Ref<>::create(PyDict_GetItemString(warningsVariables(), kShowsWarnings));
  return !showsWarnings_ || PyDict_SetItemString(warningsVariables(), kShowsWarnings, hearer) == 0;
}

bool ModeScope::heardWarning() const { return warningsHeard != heardBefore_; }

bool ModeScope::silence(BorrowedRef<> logger) {
  constexpr const char* kName = "disabled";
  Ref<> before = Ref<>::steal(PyObject_GetAttrString(logger.get(), kName));
  Ref<> set = Ref<>::steal(PyObject_GetAttrString(logger.get(), "__setattr__"));
  Ref<> arguments = Ref<>::steal(before ? Py_BuildValue("(sO)", kName, before.get()) : nullptr);
  if (!set || !arguments) return false;
  putBackBy(std::move(set), std::move(arguments), nullptr);
  return PyObject_SetAttrString(logger.get(), kName, Py_True) == 0;
}

void ModeScope::putBackBy(Ref<> function, Ref<> arguments, Ref<> keywords) {
  calls_.push_back({std::move(function), std::move(arguments), std::move(keywords)});
}

bool ModeScope::keepRandomState() {
  Ref<> generator = defaultGenerator();
  if (!generator) return false;
  randomState_ = Ref<>::steal(PyObject_CallMethod(generator.get(), "get_state", nullptr));
  return static_cast<bool>(randomState_);
}

}  // namespace armature
