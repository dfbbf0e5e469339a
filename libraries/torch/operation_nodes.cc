#include "libraries/torch/operation_nodes.h"

#include "core/checked.h"
#include "core/text.h"
#include "graph/attribute_read.h"
#include "libraries/torch/callable_names.h"
#include "libraries/torch/data_errors.h"
#include "libraries/torch/operator_names.h"

namespace armature {

namespace {

// Indices that are arrays, or sequences of numbers that become one, may be out of range.
bool isBasicIndex(PyObject* object, bool isOutermost) {
  if (isOutermost && PyTuple_CheckExact(object)) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(object); ++i) {
      if (!isBasicIndex(PyTuple_GET_ITEM(object, i), false)) return false;
    }
    return true;
  }
  return PyLong_Check(object) || PySlice_Check(object) || object == Py_None ||
         object == Py_Ellipsis;
}

bool isBasicIndex(const Argument& index, bool isOutermost = true) {
  switch (index.kind()) {
    case Argument::Kind::Constant:
      return isBasicIndex(index.object().get(), isOutermost);
    case Argument::Kind::Slice:
      return llvm::all_of(index.elements(),
                          [](const Argument& each) { return isBasicIndex(each, false); });
    case Argument::Kind::Tuple:
      return isOutermost && llvm::all_of(index.elements(), [](const Argument& each) {
               return isBasicIndex(each, false);
             });
    default:
      return false;
  }
}

// view(2, 3), view((2, 3)), view(size=(2, 3)), and not view(dtype).
bool isGivenSizes(const Node& node) {
  if (node.arguments.size() < 2) {
    return node.keywordArguments.size() == 1 &&
           stringView(node.keywordArguments[0].first) == "size";
  }
  const Argument& first = node.arguments[1];
  if (first.kind() != Argument::Kind::Constant) return true;
  PyObject* object = first.object().get();
  return PyLong_Check(object) || PyTuple_Check(object) || PyList_Check(object);
}

}  // namespace

std::string_view nameOf(const Node& node) {
  if (node.operation == NodeOperation::CallMethod) return stringView(node.target);
  if (BorrowedRef<> attribute = attributeReadBy(node)) return stringView(attribute);
  return callableNames().of(node.target).name;
}

Node* inputAt(const Node& node, size_t position) {
  if (position >= node.arguments.size()) return nullptr;
  const Argument& argument = node.arguments[position];
  return argument.kind() == Argument::Kind::Node ? argument.node() : nullptr;
}

bool setsGradMode(std::string_view name) { return name == "_set_grad_enabled"; }

bool changesAutocast(std::string_view name) {
  return name == "_enter_autocast" || name == "_exit_autocast";
}

bool isBody(const Argument& argument) {
  return argument.kind() == Argument::Kind::Node &&
         argument.node()->operation == NodeOperation::GetAttribute;
}

bool callsBodies(const Node& node) { return llvm::any_of(node.arguments, isBody); }

namespace {

// The value, an array, may be one that the dtype of what is filled cannot hold.
bool fillsWithOtherDtype(const Node& node) {
  auto dtypeOf = [](const Node* input) -> std::optional<DType> {
    return input && input->metadata ? std::optional(input->metadata->dtype) : std::nullopt;
  };
  Node* value = inputAt(node, 2);
  for (const auto& [name, argument] : node.keywordArguments) {
    bool isValue = stringView(name) == "value" && argument.kind() == Argument::Kind::Node;
    if (isValue) value = argument.node();
  }
  return value && (!dtypeOf(value) || dtypeOf(value) != dtypeOf(inputAt(node, 0)));
}

}  // namespace

bool neverRaisesOnData(const Node& node) {
  std::string_view name = nameOf(node);
  bool isItem =
      name == "getitem" || name == "__getitem__" || name == "setitem" || name == "__setitem__";
  if (isItem && node.arguments.size() > 1) {
    return isBasicIndex(node.arguments[1]);
  }
  // With other elements than before, where the tensor begins in its memory matters.
  if (name == "view" && !isGivenSizes(node)) return false;
  // Refused to views, which nothing but the tensor tells.
  if (name == "detach_") return false;
  if (name.starts_with("masked_fill") && fillsWithOtherDtype(node)) return false;
  return raisesOnNoData(name);
}

namespace {

bool varies(const Argument& argument) {
  return argument.number() || llvm::any_of(argument.elements(), varies);
}

}  // namespace

bool takesAnyNumber(const Node& node) {
  // alpha is converted, with a check.
  bool isOfOperands = node.arguments.size() <= 2 && node.keywordArguments.empty();
  return isOfOperands && takesAnyNumberByName(nameOf(node));
}

bool mayRaiseForNumber(const Node& node) {
  bool any = llvm::any_of(node.arguments, varies) ||
             llvm::any_of(node.keywordArguments,
                          [](const auto& keyword) { return varies(keyword.second); });
  return any && !takesAnyNumber(node);
}

bool isFailure(const ResultStructure& result) {
  return result.kind == ResultStructure::Kind::Constant && !result.constant;
}

bool requiresGrad(const ResultStructure& structure) {
  return (structure.metadata && structure.metadata->requiresGrad) ||
         std::ranges::any_of(structure.elements, requiresGrad);
}

}  // namespace armature
