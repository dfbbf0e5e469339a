#include "libraries/torch/mixtures.h"

#include <algorithm>
#include <array>

#include "libraries/mentions_node.h"
#include "libraries/package_modules.h"

namespace armature {

namespace {

// They make a tensor of their first argument, and of its data alone.
constexpr auto kMakers =
    std::to_array<std::string_view>({"as_tensor", "asarray", "from_numpy", "tensor"});

// Whose arguments are operands, all of them: a scalar of another library is a number to them, of
// which only the type has a say in what is known of the result.
constexpr auto kOfOperands = std::to_array<std::string_view>(
    {"add",         "clamp",      "clamp_max", "clamp_min",     "clip",         "div",
     "divide",      "eq",         "fill",      "float_power",   "floor_divide", "fmod",
     "full_like",   "ge",         "greater",   "greater_equal", "gt",           "le",
     "less",        "less_equal", "lt",        "masked_fill",   "mul",          "multiply",
     "ne",          "not_equal",  "pow",       "remainder",     "sub",          "subtract",
     "true_divide", "where",      "xlogy"});

// Those of random numbers, in place: others take sizes, too, or refuse the zeros that stand for
// what the numbers are.
constexpr auto kDraws = std::to_array<std::string_view>({"bernoulli_", "normal_", "uniform_"});

constexpr auto kBinaryOperators = std::to_array<std::string_view>(
    {"add",       "and_",    "eq",      "floordiv", "ge",   "getitem", "gt",   "iadd",    "iand",
     "ifloordiv", "ilshift", "imatmul", "imod",     "imul", "ior",     "ipow", "irshift", "isub",
     "itruediv",  "ixor",    "le",      "lshift",   "lt",   "matmul",  "mod",  "mul",     "ne",
     "or_",       "pow",     "rshift",  "setitem",  "sub",  "truediv", "xor"});

static_assert(std::ranges::is_sorted(kMakers));
static_assert(std::ranges::is_sorted(kOfOperands));
static_assert(std::ranges::is_sorted(kDraws));
static_assert(std::ranges::is_sorted(kBinaryOperators));

bool holds(const auto& names, std::string_view name) {
  return std::ranges::binary_search(names, name);
}

// Are nodes in the first argument only?
bool readsFirstArgument(const Node& node) {
  for (size_t i = 1; i < node.arguments.size(); ++i) {
    if (mentionsNode(node.arguments[i])) return false;
  }
  for (const auto& [name, argument] : node.keywordArguments) {
    bool isFirst = stringView(name) == "data" || stringView(name) == "obj";
    if (!isFirst && mentionsNode(argument)) return false;
  }
  return true;
}

// Is the only node what a tensor is filled with, and none of its sizes?
bool readsFillValue(const Node& node) {
  for (size_t i = 0; i < node.arguments.size(); ++i) {
    if (i != 1 && mentionsNode(node.arguments[i])) return false;
  }
  for (const auto& [name, argument] : node.keywordArguments) {
    if (stringView(name) != "fill_value" && mentionsNode(argument)) return false;
  }
  return true;
}

// An index that is a mask, or the bound of a slice, decides of shapes by its data.
bool isSafeIndex(const Argument& index) {
  if (index.kind() == Argument::Kind::Slice) return !mentionsNode(index);
  if (index.kind() == Argument::Kind::Node) return !isMask(*index.node()->metadata);
  return std::ranges::all_of(index.elements(), isSafeIndex);
}

bool foreignAreScalars(const Node& node) {
  bool result = true;
  forEachInput(node, [&](Node* input) {
    result &= input->metadata->library == ArrayLibraryKind::Torch || input->metadata->isScalar;
  });
  return result;
}

}  // namespace

bool returnsForeignArray(std::string_view method) {
  return method == "numpy" || method == "__array__";
}

bool torchTakesForeign(const Node& node, std::string_view name, bool isOperator) {
  if (isOperator) {
    if (!holds(kBinaryOperators, name)) return false;
    return (name != "getitem" && name != "setitem") || isSafeIndex(node.arguments[1]);
  }
  if (node.operation == NodeOperation::CallMethod && returnsForeignArray(name)) {
    return readsFirstArgument(node);
  }
  if (node.operation == NodeOperation::CallFunction && holds(kMakers, name)) {
    return readsFirstArgument(node);
  }
  if (!foreignAreScalars(node)) return false;
  if (node.operation == NodeOperation::CallFunction && name == "full") return readsFillValue(node);
  if (node.operation == NodeOperation::CallMethod && holds(kDraws, name)) return true;
  if (name.ends_with('_')) name.remove_suffix(1);
  return holds(kOfOperands, name);
}

}  // namespace armature
