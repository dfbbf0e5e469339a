#include "libraries/torch/function_table.h"

#include <algorithm>
#include <array>
#include <string>

#include "core/pending_python_exception.h"
#include "cpython/function_layout.h"
#include "cpython/type_lookup.h"
#include "libraries/torch/allowed_functions.h"
#include "libraries/torch/autograd_function.h"
#include "libraries/torch/callable_names.h"
#include "libraries/torch/changed_arguments.h"
#include "libraries/torch/checkpoint.h"
#include "libraries/torch/cond.h"
#include "libraries/torch/dynamo_patches.h"
#include "libraries/torch/first_use.h"
#include "libraries/torch/function_modes.h"
#include "libraries/torch/function_transforms.h"
#include "libraries/torch/global_state.h"
#include "libraries/torch/loop_operations.h"
#include "libraries/torch/metadata_questions.h"
#include "libraries/torch/mixtures.h"
#include "libraries/torch/nn_module.h"
#include "libraries/torch/operator_names.h"
#include "libraries/torch/operator_schema.h"
#include "libraries/torch/overriding.h"
#include "libraries/torch/python_functions.h"
#include "libraries/torch/queries.h"
#include "libraries/torch/scaled_updates.h"
#include "libraries/torch/script_functions.h"
#include "libraries/torch/settings.h"
#include "libraries/torch/tensor_groups.h"
#include "libraries/torch/tensor_hooks.h"
#include "libraries/torch/torch_constants.h"
#include "libraries/torch/tree_map.h"
#include "libraries/torch/varying_numbers.h"
#include "libraries/torch/wrap.h"

namespace armature {

namespace {

constexpr CallRule unsupported(const char* reason) {
  return {.kind = CallKind::Unsupported, .reason = reason};
}

// Modules of C functions that are operations.
constexpr std::array<std::string_view, 7> kOperationModules = {
    "torch",        "torch._C._fft",    "torch._C._linalg", "torch._C._nested",
    "torch._C._nn", "torch._C._sparse", "torch._C._special"};

// Those that stand for operations of other names.
constexpr std::array<std::string_view, 7> kOperationsWithoutSchema = {
    "_parse_to", "asarray", "dsmm", "from_numpy", "hsmm", "saddmm", "spmm"};

// torch._dynamo.assume_constant_result(function): what it returns for the same constants is the
// same in each call. That is the program's own promise, which nothing watches.
bool isMarkedConstant(BorrowedRef<> callable) {
  if (!PyFunction_Check(callable.get())) return false;
  PyObject* attributes = cpython::read(callable, cpython::FunctionField::Dict);
  if (!attributes || !PyDict_CheckExact(attributes)) return false;
  return PyDict_GetItemString(attributes, "_dynamo_marked_constant") == Py_True;
}

// A function within a function that no module keeps: another one each time.
bool isMadeByCall(BorrowedRef<> callable) {
  return PyFunction_Check(callable.get()) &&
         (cpython::codeOf(callable)->co_flags & CO_NESTED) != 0 &&
         callableNames().of(callable).name.empty();
}

}  // namespace

CallRule FunctionTable::classify(BorrowedRef<> callable) {
  if (isMarkedConstant(callable)) {
    return {.kind = CallKind::ConstantFoldable, .reason = "its arguments are not constants"};
  }
  if (isAllowedInGraph(callable)) return {.kind = CallKind::GraphOperation};
  if (PyFunction_Check(callable.get()) && TorchModule::modules().isForeign(callable)) return {};
  // Not to be kept for ever.
  if (isScriptFunction(callable)) return scriptFunctionRule(callable);
  if (LibraryCallHandler handler = findSlotCall(callable)) {
    return {.kind = CallKind::Handled, .handler = handler};
  }
  auto found = known_.find(callable.get());
  if (found != known_.end()) return found->second;
  CallRule rule = find(callable);
  if (rule.kind != CallKind::NotOurs && !isMadeByCall(callable)) {
    known_[callable.get()] = rule;
    kept_.push_back(Ref<>::create(callable));
  }
  return rule;
}

CallRule FunctionTable::find(BorrowedRef<> callable) {
  PyTypeObject* type = Py_TYPE(callable.get());
  if (PyFunction_Check(callable.get()) || PyCFunction_Check(callable.get())) {
    return findFunction(callable);
  }
  if (type == &PyMethodDescr_Type || type == &PyWrapperDescr_Type) {
    const CallableName& name = callableNames().of(callable);
    return name.module.empty() ? CallRule() : findMethod(name.name);
  }
  if (PyType_Check(callable.get())) {
    return findType(reinterpret_cast<PyTypeObject*>(callable.get()));
  }
  if (type == torch_.opOverload.get() || type == torch_.opOverloadPacket.get()) {
    return findOperator(callable);
  }
  if (PyType_IsSubtype(type, torch_.higherOrderOperator.get())) {
    LibraryCallHandler handler = findCondHandler(callable);
    if (!handler) handler = findWrapHandler(callable);
    if (!handler) handler = findLoopHandler(callable);
    if (handler) return {.kind = CallKind::Handled, .handler = handler};
    return unsupported("this higher-order operator is not supported");
  }
  return {};
}

CallRule FunctionTable::findFunction(BorrowedRef<> function) {
  LibraryCallHandler handler = nullptr;
  if (PyFunction_Check(function.get())) {
    // All of these are functions of torch's own modules.
    std::string_view module = TorchModule::modules().definedIn(function);
    bool isTorchs = !module.empty();
    for (auto* find :
         {findModuleHandler, findDynamoPatchHandler, findCheckpointHandler,
          findAutogradFunctionHandler, findCondHandler, findTensorHookHandler, findWrapHandler}) {
      if (isTorchs) handler = find(function);
      if (handler) break;
    }
    if (isTorchs && !handler) {
      handler = findFirstUseHandler(module, stringView(cpython::codeOf(function)->co_qualname));
    }
  } else {
    handler = findOverrideQueryHandler(function);
  }
  if (handler) return {.kind = CallKind::Handled, .handler = handler};
  const CallableName& name = callableNames().of(function);
  std::string qualified = name.qualified();
  handler = findTransformHandler(qualified);
  if (!handler) handler = findSettingHandler(qualified);
  if (!handler) handler = findTreeMapHandler(qualified);
  if (!handler) handler = findTensorGroupsHandler(qualified);
  if (handler) return {.kind = CallKind::Handled, .handler = handler};
  CallRule operation = transformOperation(qualified);
  if (operation.kind != CallKind::NotOurs) return operation;
  // The operator module's functions are Python's own.
  if (name.module.empty() || name.module == "operator") return {};
  if (const Query* query = findQuery(qualified)) {
    return {.kind = CallKind::ConstantFoldable, .states = query->settings};
  }
  if (PyFunction_Check(function.get())) {
    PyObject* codeName = cpython::codeOf(function.get())->co_qualname;
    return classifyPythonFunction(name, stringView(codeName));
  }
  if (std::ranges::find(kOperationModules, name.module) != kOperationModules.end() &&
      isOperation(name.name)) {
    if (LibraryCallHandler question = findMetadataQuestion(name.name);
        question && name.module == "torch") {
      return {.kind = CallKind::Handled, .handler = question};
    }
    const char* reason = reasonAgainstOperation(name.name);
    return reason ? unsupported(reason) : graphOperation(name.name);
  }
  return unsupported("this C function of torch is not an operation on tensors");
}

CallRule FunctionTable::findType(BorrowedRef<PyTypeObject> type) {
  if (type == torch_.tensorType.get()) {
    return {.kind = CallKind::GraphOperation, .returnsOneArray = true};
  }
  if (type == torch_.parameterType.get()) return {.kind = CallKind::GraphOperation};
  auto is = [&](const char* name) {
    Ref<> known = Ref<>::steal(PyObject_GetAttrString(torch_.torch.get(), name));
    clearException();
    return known && known.get() == reinterpret_cast<PyObject*>(type.get());
  };
  if (is("Size")) return {.kind = CallKind::Handled, .handler = makeSize};
  if (is("device") || is("iinfo")) return {.kind = CallKind::ConstantFoldable};
  if (is("finfo")) {
    return {.kind = CallKind::ConstantFoldable, .states = settingBit(TorchSetting::default_dtype)};
  }
  if (is("Generator"))
    return unsupported(
        "the graph cannot hold the state of a random number generator; make it outside");
  return {};
}

CallRule FunctionTable::findOperator(BorrowedRef<> overloadOrPacket) {
  Ref<> name = Ref<>::steal(PyObject_GetAttrString(
      overloadOrPacket.get(), Py_TYPE(overloadOrPacket.get()) == torch_.opOverload.get()
                                  ? "_opname"
                                  : "_qualified_op_name"));
  clearException();
  std::string_view text = stringView(name);
  if (size_t colon = text.rfind(':'); colon != std::string_view::npos)
    text.remove_prefix(colon + 1);
  if (const char* reason = reasonAgainstMethod(text)) return unsupported(reason);
  CallRule rule{.kind = CallKind::GraphOperation, .mutates = isInPlaceName(text)};
  if (std::optional<OperatorSchema> schema = operatorSchema(overloadOrPacket)) {
    if (schema->isAmbiguous) return unsupported("its overloads change different arguments");
    rule.returnsOneArray = schema->returnsOneTensor;
    rule.mutates = !schema->changed.empty();
  }
  return rule;
}

CallRule FunctionTable::classifyMethod(BorrowedRef<> name) {
  PyObject* method = cpython::lookup(torch_.tensorType.get(), name);
  if (!method) return {};
  if (auto found = methods_.find(method); found != methods_.end()) return found->second;
  CallRule rule = findMethod(stringView(name));
  methods_[method] = rule;
  kept_.push_back(Ref<>::create(method));
  return rule;
}

CallRule FunctionTable::findMethod(std::string_view name) {
  if (returnsForeignArray(name)) {
    return {.kind = CallKind::GraphOperation, .leavesLibrary = true};
  }
  if (LibraryCallHandler handler = findTensorHookMethod(name)) {
    return {.kind = CallKind::Handled, .handler = handler};
  }
  if (LibraryCallHandler handler = findScaledUpdate(name)) {
    return {.kind = CallKind::Handled, .handler = handler};
  }
  if (name == "type") return {.kind = CallKind::Handled, .handler = typeOfTensor};
  if (const char* reason = reasonAgainstMethod(name)) return unsupported(reason);
  if (isMetadataMethod(name)) return {.kind = CallKind::ConstantFoldable};
  return graphOperation(name);
}

CallRule FunctionTable::graphOperation(std::string_view name) {
  bool mutates = changesByName(name);
  // The method of an operator leaves operands that it does not know to Python.
  bool mayReturnNotImplemented = name.ends_with("__");
  return {.kind = CallKind::GraphOperation,
          .returnsOneArray =
              !mayReturnNotImplemented && (returnsOneArrayByName(name) || returnsOneTensor(name)),
          .mutates = mutates,
          .takesAnyNumberOf = takesAnyNumber(name) ? uint8_t{2} : uint8_t{0},
          .smallNumbers = placesOfSmallNumbers(name)};
}

// torch's C functions are more than operations: others set what the process does. Operations have
// schemas.
bool FunctionTable::isOperation(std::string_view name) {
  if (std::ranges::find(kOperationsWithoutSchema, name) != kOperationsWithoutSchema.end())
    return true;
  std::string qualified = "aten::" + std::string(name);
  Ref<> schemas =
      Ref<>::steal(PyObject_CallFunction(torch_.schemasForOperator.get(), "s", qualified.c_str()));
  clearUnlessInterrupted();
  return schemas && PyList_Check(schemas.get()) && PyList_GET_SIZE(schemas.get()) > 0;
}

bool FunctionTable::returnsOneTensor(std::string_view name) {
  std::string qualified = "aten::" + std::string(name);
  Ref<> schemas =
      Ref<>::steal(PyObject_CallFunction(torch_.schemasForOperator.get(), "s", qualified.c_str()));
  bool any = false;
  bool all = schemas && PyList_Check(schemas.get());
  for (Py_ssize_t i = 0; all && i < PyList_GET_SIZE(schemas.get()); ++i) {
    Ref<> text = Ref<>::steal(PyObject_Str(PyList_GET_ITEM(schemas.get(), i)));
    clearUnlessInterrupted();
    std::string_view signature = text ? stringView(text) : std::string_view();
    // Some names also have schemas for numbers, strings and lists, which scripts use.
    if (signature.find("Tensor") == std::string_view::npos) continue;
    size_t arrow = signature.rfind(" -> ");
    all = arrow != std::string_view::npos && isOneTensor(signature.substr(arrow + 4));
    any = true;
  }
  clearException();
  return any && all;
}

}  // namespace armature
