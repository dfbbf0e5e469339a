#include "variables/functions/library_calls.h"

#include "variables/constants/constant.h"
#include "variables/functions/functions.h"
#include "variables/operation_modes.h"
#include "variables/tensors/tensor.h"

namespace armature {

void guardCallee(Translator& translator, const Value& callable) {
  auto* function = trackerOf<UserFunctionVariable>(callable);
  if (!function || !function->existing()) return;
  translator.heap.identify(function->source(),
                           reinterpret_cast<PyFunctionObject*>(function->existing()));
}

void guardObject(Translator& translator, const Value& value) {
  VariableTracker* tracker = value.isTracker() ? value.tracker() : nullptr;
  if (!tracker || !tracker->existing()) return;
  if (llvm::isa<UserFunctionVariable>(tracker)) return guardCallee(translator, value);
  if (!tracker->source()) return;
  translator.addGuard(tracker->source(), GuardType::ID_MATCH, tracker->existing());
}

namespace {

// The array whose method torch.Tensor.size(x) calls; null where that is no such call.
TensorVariable* selfOfUnbound(PyObject* callable, const CallArguments& arguments) {
  if (Py_TYPE(callable) != &PyMethodDescr_Type || arguments.positionalCount() == 0) return nullptr;
  auto* tensor = trackerOf<TensorVariable>(arguments.values[0]);
  auto* owner = reinterpret_cast<PyDescrObject*>(callable)->d_type;
  return tensor && PyType_IsSubtype(tensor->type(), owner) ? tensor : nullptr;
}

}  // namespace

bool callLibrary(Translator& translator, const Value& callable, CallArguments& arguments,
                 Value& result) {
  PyObject* object = callable.isTracker() ? callable.tracker()->existing() : callable.object();
  auto [library, rule] = translator.libraryOfCallables.of(object);
  if (!library || rule.kind == CallKind::Inline) return false;
  guardCallee(translator, callable);
  bool isAsked = rule.kind == CallKind::ConstantFoldable || rule.kind == CallKind::Handled;
  if (isAsked && translator.operationModes()) {
    std::optional<Value> taken = callOperationMode(
        translator,
        {*library, NodeOperation::CallFunction, object, arguments.values, arguments.keywordNames});
    if (taken) {
      result = *taken;
      return true;
    }
  }
  switch (rule.kind) {
    case CallKind::NotOurs:
    case CallKind::Inline:
      break;
    case CallKind::Handled:
      result = rule.handler(translator, callable, arguments);
      return true;
    case CallKind::GraphOperation:
      result = translator.callGraphOperation(*library, NodeOperation::CallFunction, object, rule,
                                             arguments.values, arguments.keywordNames);
      return true;
    case CallKind::ConstantFoldable:
      for (Value& value : arguments.values) translator.realize(value);
      if (allData(arguments)) {
        uint32_t mode = translator.mode(*library);
        std::shared_ptr<void> inMode;
        if (library->isStateOfMode(mode, rule.states)) {
          inMode = library->enterMode(mode);
          if (!inMode) {
            throw GraphBreak(GraphBreakKind::UnsupportedLibraryFunction, targetName(object),
                             "it asks for what the graph has set");
          }
        }
        translator.observeState(rule.states);
        result = callWithData(translator, object, arguments);
        return true;
      }
      if (TensorVariable* self = selfOfUnbound(object, arguments)) {
        arguments.values.erase(arguments.values.begin());
        PyObject* name = reinterpret_cast<PyDescrObject*>(object)->d_name;
        result = callTensorMethod(translator, self, name, arguments);
        return true;
      }
      [[fallthrough]];
    case CallKind::Unsupported:
      throw GraphBreak(GraphBreakKind::UnsupportedLibraryFunction, targetName(object), rule.reason);
  }
  return false;
}

}  // namespace armature
