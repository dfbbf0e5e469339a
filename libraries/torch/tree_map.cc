#include "libraries/torch/tree_map.h"

#include <llvm/ADT/ScopeExit.h>

#include <utility>

#include "core/checked.h"
#include "core/text.h"
#include "variables/containers/sequence.h"
#include "variables/functions/functions.h"
#include "variables/protocol/object_protocol.h"
#include "variables/translator.h"

namespace armature {

namespace {

Value attribute(Translator& translator, const Value& object, const char* name) {
  Ref<> text = Ref<>::steal(staticName(name));
  return translator.realized(getAttribute(translator, object, text.get()));
}

// A call whose variables name no nodes.
Value callUnnamed(Translator& translator, const Value& callable, CallArguments& arguments) {
  bool before = std::exchange(translator.variablesNameNodes, false);
  auto restore = llvm::make_scope_exit([&] { translator.variablesNameNodes = before; });
  return call(translator, callable, arguments);
}
Value callUnnamed(Translator& translator, const Value& callable, const Value& argument) {
  CallArguments arguments;
  arguments.values = {argument};
  return callUnnamed(translator, callable, arguments);
}

// func(leaf, …) for each leaf of the trees. False with an exception pending.
bool mapLeaves(Translator& translator, const Value& function,
               const std::vector<ValueVector>& leaves, ValueVector& results) {
  for (size_t i = 0; i < leaves[0].size(); ++i) {
    ValueVector items;
    for (const ValueVector& each : leaves) {
      if (i < each.size()) items.push_back(each[i]);
    }
    if (items.size() < leaves.size()) break;
    Value result = call(translator, function, items);
    if (!result) return false;
    results.push_back(std::move(result));
  }
  return true;
}

// tree_map(func, tree, *rests, is_leaf=None)
Value callTreeMap(Translator& translator, const Value& callable, CallArguments& arguments,
                  bool returnsTree) {
  auto refuse = [&](const char* reason) {
    return GraphBreak(GraphBreakKind::UnsupportedLibraryFunction, describe(callable), reason);
  };
  const Value* isLeaf = arguments.keyword("is_leaf");
  if (arguments.positionalCount() < 2 || arguments.keywordCount() != (isLeaf ? 1 : 0)) {
    throw refuse("it is called by keywords");
  }
  Value globals = attribute(translator, callable, "__globals__");
  Value key = Value::steal(staticName("tree_flatten"));
  Value flatten = globals ? getItem(translator, globals, key) : Value();
  if (!flatten) return flatten;
  CallArguments given;
  given.values = {arguments.values[1]};
  if (isLeaf) {
    given.values.push_back(*isLeaf);
    given.keywordNames = arguments.keywordNames;
  }
  Value flattened = callUnnamed(translator, flatten, given);
  ValueVector parts;
  if (!flattened || !iterateInto(translator, flattened, parts)) return Value();
  if (parts.size() != 2) throw refuse("the leaves are not those of torch's own function");
  std::vector<ValueVector> leaves(1);
  if (!iterateInto(translator, parts[0], leaves[0])) return Value();
  for (size_t i = 2; i < arguments.positionalCount(); ++i) {
    Value flattenUpTo = attribute(translator, parts[1], "flatten_up_to");
    Value others =
        flattenUpTo ? callUnnamed(translator, flattenUpTo, arguments.values[i]) : Value();
    if (!others || !iterateInto(translator, others, leaves.emplace_back())) return Value();
  }
  ValueVector results;
  if (!mapLeaves(translator, arguments.values[0], leaves, results)) return Value();
  if (returnsTree) return arguments.values[1];
  Value unflatten = attribute(translator, parts[1], "unflatten");
  if (!unflatten) return unflatten;
  return callUnnamed(translator, unflatten, makeTuple(translator, std::move(results)));
}

}  // namespace

LibraryCallHandler findTreeMapHandler(std::string_view name) {
  if (name == "torch.utils._pytree.tree_map") {
    return [](Translator& translator, const Value& callable, CallArguments& arguments) {
      return callTreeMap(translator, callable, arguments, false);
    };
  }
  if (name == "torch.utils._pytree.tree_map_") {
    return [](Translator& translator, const Value& callable, CallArguments& arguments) {
      return callTreeMap(translator, callable, arguments, true);
    };
  }
  return nullptr;
}

}  // namespace armature
