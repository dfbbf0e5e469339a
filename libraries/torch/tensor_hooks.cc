#include "libraries/torch/tensor_hooks.h"

#include <map>

#include "bytecode/private_function.h"
#include "core/checked.h"
#include "core/pending_python_exception.h"
#include "cpython/c_functions.h"
#include "cpython/imported_modules.h"
#include "cpython/type_lookup.h"
#include "libraries/torch/memory_relations.h"
#include "libraries/torch/regions.h"
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
  BorrowedRef<> found = cpython::importedAttribute("torch.utils.hooks", "RemovableHandle");
  return found && PyType_Check(found.get()) ? reinterpret_cast<PyTypeObject*>(found.get())
                                            : nullptr;
}

// What torch itself has put into the class under the name; null where the program has replaced it.
BorrowedRef<> methodOf(PyTypeObject* type, const char* name) {
  PyObject* found = type ? cpython::lookup(type, Ref<>::steal(staticName(name)).get()) : nullptr;
  bool isTorchs =
      found && PyFunction_Check(found) && !TorchModule::modules().definedIn(found).empty();
  return isTorchs ? found : nullptr;
}

// Stands in a tensor's hooks until the call gives the real one.
PyObject* leaveGradient(PyObject*, PyObject*) { Py_RETURN_NONE; }

// Calls `method` (register_hook, say) of the tensor with a stand-in, and returns its handle.
PyObject* reserveHook(PyObject* method, PyObject* tensor) {
  static PyMethodDef definition = {"unchanged", leaveGradient, METH_O, nullptr};
  static PyObject* const standIn = checked(PyCFunction_New(&definition, nullptr)).release();
  PyObject* arguments[] = {tensor, standIn};
  return PyObject_Vectorcall(method, arguments, 2, nullptr);
}

// fill(handle, hook): the hook takes the place that the handle has reserved, if there still is one.
PyObject* fillHook(PyObject*, PyObject* const* arguments, Py_ssize_t) {
  Ref<> reference = Ref<>::steal(PyObject_GetAttrString(arguments[0], "hooks_dict_ref"));
  Ref<> id = Ref<>::steal(PyObject_GetAttrString(arguments[0], "id"));
  Ref<> hooks = Ref<>::steal(reference && id ? PyObject_CallNoArgs(reference.get()) : nullptr);
  if (!hooks) return nullptr;
  if (hooks.get() != Py_None && PyObject_SetItem(hooks.get(), id.get(), arguments[1]) < 0) {
    return nullptr;
  }
  Py_RETURN_NONE;
}

// The operation of the graph that reserves a place among a tensor's hooks by that method.
PyObject* reservationBy(const char* name, BorrowedRef<> method) {
  static PyMethodDef ofResults = {kRegisterHook, reserveHook, METH_O, nullptr};
  static PyMethodDef ofLeaves = {kRegisterPostAccumulate, reserveHook, METH_O, nullptr};
  static auto* made = new std::map<PyObject*, PyObject*>();
  PyObject*& function = (*made)[method.get()];
  if (!function) {
    PyMethodDef* definition = name == kRegisterHook ? &ofResults : &ofLeaves;
    function = checked(PyCFunction_New(definition, method.get())).release();
  }
  return function;
}

// The tensor's history is that of the moment, which operations behind it may change; so the graph
// reserves the hook's place.
Value reserveInGraph(Translator& translator, TensorVariable* tensor, PyTypeObject* type,
                     const char* name, BorrowedRef<> method, const Value& hook) {
  PyObject* fill = privateFunction<fillHook>("fill");
  const Library& library = tensor->library();
  auto refuse = [&](const char* reason) {
    throw GraphBreak(GraphBreakKind::UnsupportedArrayMethod,
                     describe(Value(tensor)) + "." + name + "()", reason);
  };
  if (translator.usesForeignBackend()) {
    refuse("backends compute gradients without the tensor, and would not call the hook");
  }
  if (hasTransform(translator.mode(library))) refuse("it stands inside of a transform");
  // A body runs where the call has not given the hook yet.
  translator.effects.changes(translator.knownClass(type).tracker());
  translator.effects.changes(tensor);
  Node* node =
      translator.addOperation(library, reservationBy(name, method), {Argument(tensor->node)}, {});
  Value handle = translator.make<CallResultVariable>(type, ValueVector(), node);
  translator.effects.append({EffectKind::Call, handle.tracker(), Value::constant(fill), hook});
  return handle;
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
  if (!metadata->isLeaf && name == kRegisterPostAccumulate) {
    return translator.raise(PyExc_RuntimeError,
                            "post accumulate grad hooks cannot be registered on non-leaf tensors");
  }
  const Value& hook = arguments.values[1];
  // The history of a leaf stays what it is, whatever the graph does to its data.
  if (tensor->existing() && metadata->isLeaf) {
    return callAfterGraph(translator, tensor, method, type, {hook});
  }
  if (metadata->isLeaf && tensor->library().identityOf(tensor->node, translator) != tensor->node) {
    throw GraphBreak(GraphBreakKind::IdentityOfResults, describe(Value(tensor)));
  }
  return reserveInGraph(translator, tensor, type, name, method, hook);
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
  translator.effects.append({EffectKind::Call, handle, Value::constant(method)});
  return Value::none();
}

}  // namespace

LibraryCallHandler findTensorHookMethod(std::string_view name) {
  if (name == kRegisterHook) return registerGradientHook;
  if (name == kRegisterPostAccumulate) return registerPostAccumulateHook;
  return nullptr;
}

std::optional<NodeEffect> effectOfHook(const Node& node) {
  if (!PyCFunction_Check(node.target.get()) ||
      PyCFunction_GET_FUNCTION(node.target.get()) != reserveHook) {
    return std::nullopt;
  }
  return ownsMemory(*node.arguments[0].node()) ? NodeEffect::Own : NodeEffect::Other;
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
