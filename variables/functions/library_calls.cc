#include "variables/functions/library_calls.h"

#include "variables/constants/constant.h"
#include "variables/functions/functions.h"

namespace armature {

void guardCallee(Translator& translator, const Value& callable) {
  auto* function = trackerOf<UserFunctionVariable>(callable);
  if (!function || !function->existing()) return;
  translator.heap.identify(function->source(),
                           reinterpret_cast<PyFunctionObject*>(function->existing()));
}

bool callLibrary(Translator& translator, const Value& callable, CallArguments& arguments,
                 Value& result) {
  PyObject* object = callable.isTracker() ? callable.tracker()->existing() : callable.object();
  auto [library, rule] = translator.libraryOfCallables.of(object);
  if (!library || rule.kind == CallKind::Inline) return false;
  guardCallee(translator, callable);
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
        translator.observeState(rule.states);
        result = callWithData(translator, object, arguments);
        return true;
      }
      [[fallthrough]];
    case CallKind::Unsupported:
      throw GraphBreak(GraphBreakKind::UnsupportedLibraryFunction, targetName(object), rule.reason);
  }
  return false;
}

}  // namespace armature
