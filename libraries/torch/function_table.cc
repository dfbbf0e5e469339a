#include "libraries/torch/function_table.h"

#include <algorithm>
#include <array>
#include <string>

#include "cpython/c_functions.h"
#include "cpython/function_layout.h"
#include "libraries/torch/operator_names.h"
#include "libraries/torch/python_functions.h"

namespace armature {

namespace {

constexpr CallRule unsupported(const char* reason) {
  return {.kind = CallKind::Unsupported, .reason = reason};
}

// Functions of torch._C that tell something and change nothing.
constexpr std::array<std::string_view, 27> kPureBindings = {"_accelerator_getAccelerator",
                                                            "_get_cublas_allow_tf32",
                                                            "_get_privateuse1_backend_name",
                                                            "_get_tracing_state",
                                                            "_has_torch_function",
                                                            "_has_torch_function_unary",
                                                            "_has_torch_function_variadic",
                                                            "_is_any_autocast_enabled",
                                                            "_is_torch_function_enabled",
                                                            "_log_api_usage_once",
                                                            "can_cast",
                                                            "get_autocast_cpu_dtype",
                                                            "get_autocast_dtype",
                                                            "get_autocast_gpu_dtype",
                                                            "get_default_dtype",
                                                            "get_num_interop_threads",
                                                            "get_num_threads",
                                                            "is_anomaly_check_nan_enabled",
                                                            "is_anomaly_enabled",
                                                            "is_autocast_available",
                                                            "is_autocast_cache_enabled",
                                                            "is_autocast_cpu_enabled",
                                                            "is_autocast_enabled",
                                                            "is_inference_mode_enabled",
                                                            "is_vulkan_available",
                                                            "promote_types",
                                                            "vitals_enabled"};
static_assert(std::ranges::is_sorted(kPureBindings));

// Modules of C functions that are operations.
constexpr std::array<std::string_view, 6> kOperationModules = {
    "torch._C._fft", "torch._C._linalg", "torch._C._nested",
    "torch._C._nn",  "torch._C._sparse", "torch._C._special"};

bool isOneTensor(std::string_view returns) {
  return returns.starts_with("Tensor") && !returns.ends_with("[]") &&
         returns.find(',') == std::string_view::npos;
}

}  // namespace

CallRule FunctionTable::classify(BorrowedRef<> callable) {
  auto found = known_.find(callable.get());
  if (found != known_.end()) return found->second;
  CallRule rule = find(callable);
  if (rule.kind != CallKind::NotOurs) {
    known_[callable.get()] = rule;
    kept_.push_back(Ref<>::create(callable));
  }
  return rule;
}

CallRule FunctionTable::find(BorrowedRef<> callable) {
  PyTypeObject* type = Py_TYPE(callable.get());
  if (PyFunction_Check(callable.get())) {
    using cpython::FunctionField;
    return classifyPythonFunction(stringView(cpython::read(callable, FunctionField::Module)),
                                  stringView(cpython::read(callable, FunctionField::Name)));
  }
  if (PyCFunction_Check(callable.get())) return findCFunction(callable);
  if (type == &PyMethodDescr_Type || type == &PyWrapperDescr_Type) {
    PyTypeObject* owner = PyDescr_TYPE(callable.get());
    if (!PyType_IsSubtype(torch_.tensorType.get(), owner) || owner == &PyBaseObject_Type) return {};
    return findMethod(stringView(PyDescr_NAME(callable.get())));
  }
  if (PyType_Check(callable.get())) {
    return findType(reinterpret_cast<PyTypeObject*>(callable.get()));
  }
  if (type == torch_.opOverload.get() || type == torch_.opOverloadPacket.get()) {
    return findOperator(callable);
  }
  if (PyType_IsSubtype(type, torch_.higherOrderOperator.get())) {
    return unsupported("this higher-order operator is not supported");
  }
  return {};
}

CallRule FunctionTable::findCFunction(BorrowedRef<> function) {
  const PyMethodDef* definition = cpython::methodDefinition(function);
  std::string_view name = definition->ml_name;
  std::string_view module = stringView(cpython::moduleOf(function));
  if (!module.starts_with("torch")) return {};
  bool isOperation = std::ranges::find(kOperationModules, module) != kOperationModules.end();
  if (!isOperation) {
    Ref<> operation =
        Ref<>::steal(PyObject_GetAttrString(torch_.variableFunctions.get(), definition->ml_name));
    PyErr_Clear();
    isOperation = operation && operation.get() == function.get();
  }
  if (std::ranges::binary_search(kPureBindings, name)) return {.kind = CallKind::ConstantFoldable};
  if (isOperation) {
    const char* reason = reasonAgainstOperation(name);
    return reason ? unsupported(reason) : graphOperation(name);
  }
  return unsupported("this C function of torch is not an operation on tensors");
}

CallRule FunctionTable::findType(BorrowedRef<PyTypeObject> type) {
  if (type == torch_.tensorType.get()) {
    return unsupported("torch.Tensor makes a tensor of uninitialized or of given data");
  }
  for (const char* name : {"device", "Size", "finfo", "iinfo"}) {
    Ref<> known = Ref<>::steal(PyObject_GetAttrString(torch_.torch.get(), name));
    PyErr_Clear();
    if (known && known.get() == reinterpret_cast<PyObject*>(type.get())) {
      return {.kind = CallKind::ConstantFoldable};
    }
  }
  if (std::string_view(type->tp_name) == "torch._C.Generator") {
    return unsupported("random number generators are not modelled");
  }
  return {};
}

CallRule FunctionTable::findOperator(BorrowedRef<> overloadOrPacket) {
  Ref<> name = Ref<>::steal(PyObject_GetAttrString(
      overloadOrPacket.get(), Py_TYPE(overloadOrPacket.get()) == torch_.opOverload.get()
                                  ? "_opname"
                                  : "_qualified_op_name"));
  PyErr_Clear();
  std::string_view text = stringView(name);
  if (size_t colon = text.rfind(':'); colon != std::string_view::npos)
    text.remove_prefix(colon + 1);
  if (const char* reason = reasonAgainstMethod(text)) return unsupported(reason);
  CallRule rule{.kind = CallKind::GraphOperation, .mutates = isInPlaceName(text)};
  Ref<> schema = Ref<>::steal(PyObject_GetAttrString(overloadOrPacket.get(), "_schema"));
  PyErr_Clear();
  if (schema) {
    Ref<> schemaText = Ref<>::steal(PyObject_Str(schema.get()));
    std::string_view signature = stringView(schemaText);
    if (size_t arrow = signature.rfind(" -> "); arrow != std::string_view::npos) {
      rule.returnsOneArray = isOneTensor(signature.substr(arrow + 4));
      rule.mutates = signature.substr(0, arrow).find('!') != std::string_view::npos;
    }
    PyErr_Clear();
  }
  return rule;
}

CallRule FunctionTable::classifyMethod(BorrowedRef<> name) {
  std::string_view text = stringView(name);
  auto [entry, isNew] = methods_.try_emplace(llvm::StringRef(text.data(), text.size()));
  if (!isNew) return entry->second;
  Ref<> method = Ref<>::steal(
      PyObject_GetAttr(reinterpret_cast<PyObject*>(torch_.tensorType.get()), name.get()));
  PyErr_Clear();
  if (method && PyCallable_Check(method.get())) entry->second = findMethod(text);
  return entry->second;
}

CallRule FunctionTable::findMethod(std::string_view name) {
  if (const char* reason = reasonAgainstMethod(name)) return unsupported(reason);
  if (isMetadataMethod(name)) return {.kind = CallKind::ConstantFoldable};
  return graphOperation(name);
}

CallRule FunctionTable::graphOperation(std::string_view name) {
  return {.kind = CallKind::GraphOperation,
          .returnsOneArray = returnsOneArrayByName(name) || returnsOneTensor(name),
          .mutates = isInPlaceName(name)};
}

bool FunctionTable::returnsOneTensor(std::string_view name) {
  std::string qualified = "aten::" + std::string(name);
  Ref<> schemas =
      Ref<>::steal(PyObject_CallFunction(torch_.schemasForOperator.get(), "s", qualified.c_str()));
  bool any = false;
  bool all = schemas && PyList_Check(schemas.get());
  for (Py_ssize_t i = 0; all && i < PyList_GET_SIZE(schemas.get()); ++i) {
    Ref<> text = Ref<>::steal(PyObject_Str(PyList_GET_ITEM(schemas.get(), i)));
    std::string_view signature = stringView(text);
    // Some names also have schemas for numbers, strings and lists, which scripts use.
    if (signature.find("Tensor") == std::string_view::npos) continue;
    size_t arrow = signature.rfind(" -> ");
    all = arrow != std::string_view::npos && isOneTensor(signature.substr(arrow + 4));
    any = true;
  }
  PyErr_Clear();
  return any && all;
}

}  // namespace armature
