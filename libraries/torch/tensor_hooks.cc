#include "libraries/torch/tensor_hooks.h"

#include "core/pending_python_exception.h"
#include "cpython/type_lookup.h"
#include "libraries/torch/imported_attribute.h"
#include "libraries/torch/torch_module.h"
#include "variables/functions/builtin_handlers.h"
#include "variables/functions/functions.h"
#include "variables/objects/call_result.h"
#include "variables/protocol/object_protocol.h"
#include "variables/tensors/tensor.h"
#include "variables/tensors/tensor_attributes.h"

namespace armature {

namespace {

constexpr const char* kRegisterHook = "register_hook";
constexpr const char* kRegisterPostAccumulate = "register_post_accumulate_grad_hook";

PyTypeObject* handleType() {
  BorrowedRef<> found = importedAttribute("torch.utils.hooks", "RemovableHandle");
  return found && PyType_Check(found.get()) ? reinterpret_cast<PyTypeObject*>(found.get())
                                            : nullptr;
}

// What torch itself has put into the class under the name; null where the program has replaced it.
BorrowedRef<> methodOf(PyTypeObject* type, const char* name) {
  PyObject* found = type ? cpython::lookup(type, staticName(name)) : nullptr;
  bool isTorchs = found && PyFunction_Check(found) &&
                  !TorchModule::modules().moduleOf(PyFunction_GET_GLOBALS(found)).empty();
  return isTorchs ? found : nullptr;
}

// register_hook(self, hook), and register_post_accumulate_grad_hook(self, hook).
Value registerHook(Translator& translator, const char* name, CallArguments& arguments) {
  auto* tensor = arguments.values.size() == 2 && arguments.keywordCount() == 0
                     ? trackerOf<TensorVariable>(translator.realized(arguments.values[0]))
                     : nullptr;
  PyTypeObject* type = handleType();
  BorrowedRef<> method = methodOf(TorchModule::get()->tensorType.get(), name);
  if (!tensor || !type || !method) {
    throw GraphBreak(GraphBreakKind::UnsupportedArrayMethod, std::string(name) + "()");
  }
  const TensorMetadata* metadata = observedMetadata(translator, tensor, "requires_grad");
  if (metadata) metadata = observedMetadata(translator, tensor, "is_leaf");
  if (!metadata) return Value();
  if (!metadata->requiresGrad) {
    return translator.raise(PyExc_RuntimeError,
                            "cannot register a hook on a tensor that doesn't require gradient");
  }
  // The history of a leaf stays what it is, whatever the graph does to its data.
  if (!tensor->existing() || !metadata->isLeaf) {
    throw GraphBreak(GraphBreakKind::UnsupportedArrayMethod,
                     describe(Value(tensor)) + "." + name + "()",
                     "the tensor is not a leaf that was there before");
  }
  return callAfterGraph(translator, tensor, method, type, {arguments.values[1]});
}

Value registerGradientHook(Translator& translator, const Value&, CallArguments& arguments) {
  return registerHook(translator, kRegisterHook, arguments);
}

Value registerPostAccumulateHook(Translator& translator, const Value&, CallArguments& arguments) {
  return registerHook(translator, kRegisterPostAccumulate, arguments);
}

// RemovableHandle.remove(self)
Value removeHook(Translator& translator, const Value& callable, CallArguments& arguments) {
  auto* handle = arguments.values.size() == 1 && arguments.keywordCount() == 0
                     ? trackerOf<CallResultVariable>(translator.realized(arguments.values[0]))
                     : nullptr;
  if (!handle) {
    return translator.callUserFunction(requireKind<UserFunctionVariable>(callable), arguments);
  }
  translator.effects.changes(handle);
  PyObject* method = callable.tracker()->existing();
  translator.effects.append({EffectKind::Call, handle, Value::constant(method), {}});
  return Value::none();
}

}  // namespace

LibraryCallHandler findTensorHookMethod(std::string_view name) {
  if (name == kRegisterHook) return registerGradientHook;
  if (name == kRegisterPostAccumulate) return registerPostAccumulateHook;
  return nullptr;
}

LibraryCallHandler findTensorHookHandler(BorrowedRef<> function) {
  auto is = [&](PyTypeObject* type, const char* name) {
    BorrowedRef<> method = methodOf(type, name);
    return method && method.get() == function.get();
  };
  if (is(handleType(), "remove")) return removeHook;
  PyTypeObject* tensor = TorchModule::get()->tensorType.get();
  for (const char* name : {kRegisterHook, kRegisterPostAccumulate}) {
    if (is(tensor, name)) return findTensorHookMethod(name);
  }
  return nullptr;
}

}  // namespace armature
