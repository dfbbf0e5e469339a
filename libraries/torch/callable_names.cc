#include "libraries/torch/callable_names.h"

#include "core/pending_python_exception.h"
#include "cpython/c_functions.h"
#include "cpython/imported_modules.h"
#include "cpython/type_lookup.h"
#include "graph/graph.h"

namespace armature {

namespace {

// Modules of Python functions that are operations.
constexpr const char* kOperationModules[] = {"torch.nn.functional", "torch.functional",
                                             "torch.nn.grad",       "torch._lowrank",
                                             "torch._linalg_utils", "torch"};
// Modules of C functions; the first that has a function names it.
constexpr const char* kBindingModules[] = {
    "torch._C._nn",     "torch._C._fft",      "torch._C._linalg",   "torch._C._nested",
    "torch._C._sparse", "torch._C._special",  "torch._C",           "torch",
    "torch._C._onnx",   "torch._C._autograd", "torch._C._functorch"};

PyObject* itemNamed(PyObject* dict, const char* name) {
  PyObject* value = dict ? PyDict_GetItemString(dict, name) : nullptr;
  clearException();
  return value;
}

// The attribute of the class that holds the function; empty if none does.
std::string_view nameInClass(PyTypeObject* type, BorrowedRef<> function) {
  PyObject *name, *value;
  for (Py_ssize_t i = 0; PyDict_Next(cpython::dict(type), &i, &name, &value);) {
    if (value == function.get()) return stringView(name);
  }
  return {};
}

}  // namespace

CallableNames::CallableNames(const TorchModule& torch) : torch_(torch) {
  for (const char* module : kOperationModules) addExports(module);
  Ref<> module = Ref<>::steal(cpython::importModule("_operator"));
  clearException();
  PyObject *name, *value;
  for (Py_ssize_t i = 0;
       module && PyDict_Next(PyModule_GetDict(module.get()), &i, &name, &value);) {
    if (!PyCFunction_Check(value)) continue;
    // Some have two names; the one that it was made with is the one that graphs show.
    const char* own = cpython::methodDefinition(value)->ml_name;
    if (operators_.try_emplace(value, own).second) kept_.push_back(Ref<>::create(value));
  }
}

void CallableNames::addExports(const char* module) {
  PackageModules& modules = TorchModule::modules();
  PyObject* dict = modules.dictOf(module);
  PyObject *name, *value;
  for (Py_ssize_t i = 0; dict && PyDict_Next(dict, &i, &name, &value);) {
    if (!PyFunction_Check(value)) continue;
    // What a program has put there reads globals that are not torch's.
    PackageModules::Home home = modules.homeOf(value);
    if (home.module.empty() || !home.name.empty()) continue;
    CallableName exported{module, std::string(stringView(name))};
    if (exports_.try_emplace(value, std::move(exported)).second) {
      kept_.push_back(Ref<>::create(value));
    }
  }
}

const CallableName& CallableNames::of(BorrowedRef<> callable) {
  static const CallableName nobodys;
  if (auto found = known_.find(callable.get()); found != known_.end()) return found->second;
  CallableName name = find(callable);
  if (name.module.empty()) return nobodys;
  if (name.name.empty()) {
    CallableName& known = unnamed_[name.module];
    if (known.module.empty()) known.module = std::move(name.module);
    return known;
  }
  kept_.push_back(Ref<>::create(callable));
  return known_[callable.get()] = std::move(name);
}

CallableName CallableNames::find(BorrowedRef<> callable) {
  PyTypeObject* type = Py_TYPE(callable.get());
  if (PyFunction_Check(callable.get())) return findPythonFunction(callable);
  if (PyCFunction_Check(callable.get())) return findCFunction(callable);
  if (type == &PyMethodDescr_Type || type == &PyWrapperDescr_Type) {
    PyTypeObject* owner = PyDescr_TYPE(callable.get());
    if (owner == &PyBaseObject_Type || !PyType_IsSubtype(torch_.tensorType.get(), owner)) return {};
    return {"torch.Tensor", std::string(stringView(PyDescr_NAME(callable.get())))};
  }
  if (type == torch_.opOverload.get() || type == torch_.opOverloadPacket.get()) {
    std::string name = targetName(callable);
    size_t dot = name.rfind('.');
    if (dot == std::string::npos) return {"torch.ops", std::move(name)};
    return {name.substr(0, dot), name.substr(dot + 1)};
  }
  return {};
}

CallableName CallableNames::findPythonFunction(BorrowedRef<> function) {
  if (auto found = exports_.find(function.get()); found != exports_.end()) return found->second;
  PackageModules::Home home = TorchModule::modules().homeOf(function);
  if (home.name.empty() && home.module == "torch._tensor") {
    std::string_view name = nameInClass(torch_.tensorType.get(), function);
    if (!name.empty()) return {"torch.Tensor", std::string(name)};
  }
  return {std::string(home.module), std::string(home.name)};
}

CallableName CallableNames::findCFunction(BorrowedRef<> function) {
  if (auto found = operators_.find(function.get()); found != operators_.end()) {
    return {"operator", found->second};
  }
  // The name in a C function's definition is no claim: nobody can change it.
  const char* name = cpython::methodDefinition(function)->ml_name;
  Ref<> operation = Ref<>::steal(PyObject_GetAttrString(torch_.variableFunctions.get(), name));
  clearException();
  if (operation && operation.get() == function.get()) return {"torch", name};
  for (const char* module : kBindingModules) {
    PyObject* dict = TorchModule::modules().dictOf(module);
    if (itemNamed(dict, name) == function.get()) return {module, name};
  }
  return {};
}

CallableNames& callableNames() {
  static auto* names = new CallableNames(*TorchModule::get());
  return *names;
}

}  // namespace armature
