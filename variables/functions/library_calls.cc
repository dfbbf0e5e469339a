#include "variables/functions/library_calls.h"

#include "variables/constants/constant.h"

namespace armature {

bool callLibrary(Translator& translator, PyObject* callable, CallArguments& arguments,
                 Value& result) {
  for (ArrayLibraryKind kind : {ArrayLibraryKind::Torch, ArrayLibraryKind::NumPy}) {
    const Library* library = findLibrary(kind);
    if (!library) continue;
    CallRule rule = library->classify(callable);
    switch (rule.kind) {
      case CallKind::NotOurs:
        break;
      case CallKind::Inline:
        return false;
      case CallKind::GraphOperation:
        result = translator.callGraphOperation(*library, NodeOperation::CallFunction, callable,
                                               rule, arguments.values, arguments.keywordNames);
        return true;
      case CallKind::ConstantFoldable:
        for (Value& value : arguments.values) translator.realize(value);
        if (allData(arguments)) {
          translator.guardGlobalState();
          result = callWithData(translator, callable, arguments);
          return true;
        }
        [[fallthrough]];
      case CallKind::Unsupported:
        throw GraphBreak(GraphBreakKind::UnsupportedLibraryFunction, targetName(callable),
                         rule.reason);
    }
  }
  return false;
}

}  // namespace armature
