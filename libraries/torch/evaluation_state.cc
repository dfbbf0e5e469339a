#include "libraries/torch/evaluation_state.h"

namespace armature {

namespace {

Ref<> callBinding(const TorchModule& torch, const char* name, PyObject* argument = nullptr) {
  Ref<> bindings = Ref<>::steal(PyObject_GetAttrString(torch.torch.get(), "_C"));
  Ref<> function = Ref<>::steal(bindings ? PyObject_GetAttrString(bindings.get(), name) : nullptr);
  if (!function) return nullptr;
  return Ref<>::steal(argument ? PyObject_CallOneArg(function.get(), argument)
                               : PyObject_CallNoArgs(function.get()));
}

// True if the number that the function returns is positive.
bool isPositive(const TorchModule& torch, const char* name) {
  Ref<> number = callBinding(torch, name);
  bool result = number && PyLong_AsLong(number.get()) > 0;
  PyErr_Clear();
  return result;
}

Ref<> defaultGenerator(const TorchModule& torch) {
  return Ref<>::steal(PyObject_GetAttrString(torch.torch.get(), "default_generator"));
}

}  // namespace

EvaluationState::~EvaluationState() {
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  if (randomState_) {
    Ref<> generator = defaultGenerator(torch_);
    if (generator) {
      Ref<>::steal(PyObject_CallMethod(generator.get(), "set_state", "O", randomState_.get()));
    }
  }
  while (!contexts_.empty()) {
    Ref<>::steal(
        PyObject_CallMethod(contexts_.back().get(), "__exit__", "OOO", Py_None, Py_None, Py_None));
    contexts_.pop_back();
  }
  if (gradEnabledBefore_ >= 0) {
    callBinding(torch_, "_set_grad_enabled", gradEnabledBefore_ ? Py_True : Py_False);
  }
  PyErr_Clear();
  PyErr_Restore(type, value, traceback);
}

bool EvaluationState::setGradEnabled(bool enabled) {
  Ref<> before = callBinding(torch_, "is_grad_enabled");
  if (!before) return false;
  if ((before.get() == Py_True) == enabled) return true;
  gradEnabledBefore_ = before.get() == Py_True;
  return static_cast<bool>(callBinding(torch_, "_set_grad_enabled", enabled ? Py_True : Py_False));
}

bool EvaluationState::leaveModes(bool keepFunctionModes) {
  if (isPositive(torch_, "_len_torch_dispatch_stack")) {
    Ref<> module = Ref<>::steal(PyImport_ImportModule("torch.utils._python_dispatch"));
    if (!module || !enter(Ref<>::steal(
                       PyObject_CallMethod(module.get(), "_disable_current_modes", nullptr)))) {
      return false;
    }
  }
  if (!keepFunctionModes && isPositive(torch_, "_len_torch_function_stack")) {
    return enter(callBinding(torch_, "DisableTorchFunction"));
  }
  return true;
}

bool EvaluationState::enter(Ref<> contextManager) {
  if (!contextManager) return false;
  Ref<> entered = Ref<>::steal(PyObject_CallMethod(contextManager.get(), "__enter__", nullptr));
  if (!entered) return false;
  contexts_.push_back(std::move(contextManager));
  return true;
}

bool EvaluationState::keepRandomState() {
  Ref<> generator = defaultGenerator(torch_);
  if (!generator) return false;
  randomState_ = Ref<>::steal(PyObject_CallMethod(generator.get(), "get_state", nullptr));
  return static_cast<bool>(randomState_);
}

}  // namespace armature
