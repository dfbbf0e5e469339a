#include "libraries/torch/wrap.h"

#include "core/checked.h"
#include "core/text.h"
#include "libraries/torch/imported_attribute.h"
#include "variables/protocol/object_protocol.h"

namespace armature {

namespace {

BorrowedRef<> wrapOperator() { return importedAttribute("torch._higher_order_ops.wrap", "wrap"); }

Value callWrap(Translator& translator, const Value& callable, CallArguments& arguments) {
  static PyObject* const bodyName = staticName("wrap_body");
  if (arguments.positionalCount() == 0) {
    throw GraphBreak(GraphBreakKind::UnsupportedLibraryFunction, describe(callable),
                     "there is no function to wrap");
  }
  HigherOrderOperation operation = {
      Ref<>::create(wrapOperator()), Ref<>(), Ref<>::create(bodyName), {}};
  Value function = arguments.values[0];
  arguments.values.erase(arguments.values.begin());
  return translator.callInSubgraph(*findLibrary(ArrayLibraryKind::Torch), operation, function,
                                   arguments);
}

}  // namespace

LibraryCallHandler findWrapHandler(BorrowedRef<> callable) {
  BorrowedRef<> known = wrapOperator();
  return known && known.get() == callable.get() ? callWrap : nullptr;
}

}  // namespace armature
