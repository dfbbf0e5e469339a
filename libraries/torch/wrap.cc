#include "libraries/torch/wrap.h"

#include "core/checked.h"
#include "core/text.h"
#include "cpython/imported_modules.h"
#include "libraries/torch/function_transforms.h"
#include "variables/containers/dict.h"
#include "variables/containers/sequence.h"
#include "variables/protocol/object_protocol.h"
#include "variables/subgraph.h"

namespace armature {

namespace {

const Library& torchLibrary() { return *findLibrary(ArrayLibraryKind::Torch); }

BorrowedRef<> wrapOperator() {
  return cpython::importedAttribute("torch._higher_order_ops.wrap", "wrap");
}
BorrowedRef<> hintsOperator() {
  return cpython::importedAttribute("torch._higher_order_ops.hints_wrap", "hints_wrapper");
}
BorrowedRef<> strictOperator() {
  return cpython::importedAttribute("torch._higher_order_ops.strict_mode", "strict_mode_op");
}

[[noreturn]] void refuse(const Value& callable, const char* reason) {
  throw GraphBreak(GraphBreakKind::UnsupportedLibraryFunction, describe(callable), reason);
}

// wrap(function, *arguments, **keywords)
Value callWrap(Translator& translator, const Value& callable, CallArguments& arguments) {
  static PyObject* const bodyName = staticName("wrap_body");
  requireNoTransform(translator, callable);
  if (arguments.positionalCount() == 0) refuse(callable, "there is no function to wrap");
  HigherOrderOperation operation = {
      Ref<>::create(wrapOperator()), Ref<>(), Ref<>::create(bodyName), {}};
  Value function = arguments.values[0];
  arguments.values.erase(arguments.values.begin());
  return translator.callInSubgraph(torchLibrary(), operation, function, arguments);
}

// An operation that takes the inputs of its body as one tuple; `others` follow that.
Value addTupleOperation(Translator& translator, BorrowedRef<> target, PyObject* bodyName,
                        const Value& function, const Value& given, std::vector<Argument> others,
                        std::vector<std::pair<Ref<>, Argument>> keywords) {
  ValueVector passed;
  if (!iterateInto(translator, given, passed)) return Value();
  CallArguments inner;
  inner.values.assign(passed.begin(), passed.end());
  Body body(translator, torchLibrary(), function, inner);
  if (!body.result()) return body.result();
  Graph::Subgraph graph = body.outline();
  std::vector<Argument> arguments = {
      Argument(translator.addBody(torchLibrary(), graph, bodyName)),
      Argument::aggregate(Argument::Kind::Tuple, {graph.inputs.begin(), graph.inputs.end()})};
  arguments.insert(arguments.end(), others.begin(), others.end());
  Node* node =
      translator.addOperation(torchLibrary(), target, std::move(arguments), std::move(keywords));
  body.takeItemsOf(node);
  return body.result();
}

// A dict of constants as an argument.
Argument constantDict(Translator& translator, const Value& callable, const Value& value) {
  auto* dict = trackerOf<DictVariable>(value);
  if (!dict) refuse(callable, "its hints are no dict");
  std::vector<Argument> values;
  Ref<> keys = checked(PyList_New(0));
  dict->forEach(translator, [&](const OrderedValueMap::Entry& entry) {
    PyObject* key = translator.realized(entry.key).objectOrNull();
    PyObject* constant = translator.realized(entry.value).objectOrNull();
    if (!key || !constant) refuse(callable, "its hints are not constants");
    checked(PyList_Append(keys.get(), key));
    values.push_back(Argument::constant(constant));
  });
  return Argument::aggregate(Argument::Kind::Dict, std::move(values),
                             checked(PyList_AsTuple(keys.get())));
}

// hints_wrapper(function, arguments, {}, hints={...})
Value callHints(Translator& translator, const Value& callable, CallArguments& arguments) {
  static PyObject* const bodyName = staticName("hints_wrapper_body");
  static PyObject* const hintsName = staticName("hints");
  requireNoTransform(translator, callable);
  const Value* hints = arguments.keyword("hints");
  if (arguments.positionalCount() != 3 || !hints || arguments.keywordCount() != 1) {
    refuse(callable, "it is called in another form");
  }
  auto* keywords = trackerOf<DictVariable>(translator.realized(arguments.values[2]));
  if (!keywords || keywords->size(translator) != 0) refuse(callable, "it is given keywords");
  Argument given = constantDict(translator, callable, translator.realized(*hints));
  Argument none = Argument::aggregate(Argument::Kind::Dict, {}, checked(PyTuple_New(0)));
  return addTupleOperation(translator, hintsOperator(), bodyName, arguments.values[0],
                           arguments.values[1], {none},
                           {{Ref<>::create(hintsName), std::move(given)}});
}

// strict_mode(function, arguments)
Value callStrict(Translator& translator, const Value& callable, CallArguments& arguments) {
  static PyObject* const bodyName = staticName("strict_mode_body");
  requireNoTransform(translator, callable);
  if (arguments.values.size() != 2 || arguments.keywordCount()) {
    refuse(callable, "it is called in another form");
  }
  return addTupleOperation(translator, strictOperator(), bodyName, arguments.values[0],
                           arguments.values[1], {}, {});
}

}  // namespace

LibraryCallHandler findWrapHandler(BorrowedRef<> callable) {
  auto is = [&](BorrowedRef<> known) { return known && known.get() == callable.get(); };
  if (is(wrapOperator())) return callWrap;
  if (is(hintsOperator())) return callHints;
  if (is(strictOperator()) ||
      is(cpython::importedAttribute("torch._higher_order_ops.strict_mode", "strict_mode"))) {
    return callStrict;
  }
  return nullptr;
}

}  // namespace armature
