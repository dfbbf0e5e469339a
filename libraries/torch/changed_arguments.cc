#include "libraries/torch/changed_arguments.h"

#include <llvm/ADT/StringMap.h>

#include <algorithm>

#include "cpython/code_objects.h"
#include "cpython/function_layout.h"
#include "libraries/torch/callable_names.h"
#include "libraries/torch/operator_names.h"
#include "libraries/torch/operator_schema.h"

namespace armature {

namespace {

// An in-place function of the operator module, whose names are like those of others: iadd, setitem.
bool isInPlaceOperator(std::string_view name) {
  bool isInPlace = name.starts_with('i') && name != "invert" && name != "inv" && name != "index" &&
                   name != "is_" && name != "is_not" && name != "indexOf" && name != "itemgetter";
  return isInPlace || name == "setitem" || name == "delitem";
}

// What a name of torch's changes by its schemas. Asked of every operation of every graph.
const std::vector<ChangedParameter>& changedByName(std::string_view name) {
  static auto* known = new llvm::StringMap<std::vector<ChangedParameter>>();
  auto [entry, isNew] = known->try_emplace(name);
  if (isNew) entry->second = changedParameters(name);
  return entry->second;
}

void addNodes(const Argument& argument, llvm::SmallVector<Node*, 4>& nodes) {
  forEachInput(argument, [&](Node* node) {
    if (!llvm::is_contained(nodes, node)) nodes.push_back(node);
  });
}

const Argument* findArgument(const Node& node, const ChangedParameter& parameter) {
  for (const auto& [name, argument] : node.keywordArguments) {
    if (stringView(name) == parameter.name) return &argument;
  }
  return parameter.position < node.arguments.size() ? &node.arguments[parameter.position] : nullptr;
}

bool isOperator(const CallableName& callable) {
  // (operator.and_ is named after a keyword.)
  return callable.module == "operator";
}

}  // namespace

bool changesByName(std::string_view name) {
  return isInPlaceName(name) || !changedByName(name).empty();
}

bool isInPlaceCall(const Node& node) {
  for (const auto& [name, argument] : node.keywordArguments) {
    std::string_view text = stringView(name);
    if (text == "out" && argument.object().get() != Py_None) return true;
    if (text == "inplace" && argument.object().get() != Py_False) return true;
  }
  if (!PyFunction_Check(node.target.get())) return false;
  PyCodeObject* code = cpython::codeOf(node.target);
  size_t count = std::min<size_t>(code->co_argcount, node.arguments.size());
  for (size_t i = 0; i < count; ++i) {
    bool isInPlace =
        stringView(cpython::localName(reinterpret_cast<PyObject*>(code), i)) == "inplace";
    if (isInPlace && node.arguments[i].object().get() != Py_False) return true;
  }
  return false;
}

namespace {

bool findChange(const Node& node) {
  if (node.operation == NodeOperation::CallMethod) {
    return changesByName(stringView(node.target)) || isInPlaceCall(node);
  }
  if (std::optional<OperatorSchema> schema = operatorSchema(node.target)) {
    return !schema->changed.empty() || isInPlaceCall(node);
  }
  const CallableName& callable = callableNames().of(node.target);
  bool isInPlace =
      isOperator(callable) ? isInPlaceOperator(callable.name) : changesByName(callable.name);
  return isInPlace || isInPlaceCall(node);
}

}  // namespace

bool changesArgument(const Node& node) {
  if (!node.isCall()) return false;
  if (node.change == Node::Change::Unknown) {
    node.change = findChange(node) ? Node::Change::Argument : Node::Change::None;
  }
  return node.change == Node::Change::Argument;
}

llvm::SmallVector<Node*, 4> changedArrays(const Node& node) {
  llvm::SmallVector<Node*, 4> nodes;
  for (const auto& [name, argument] : node.keywordArguments) {
    if (stringView(name) != "out" || argument.object().get() == Py_None) continue;
    addNodes(argument, nodes);
    return nodes;
  }
  auto addChanged = [&](llvm::ArrayRef<ChangedParameter> parameters) {
    for (const ChangedParameter& parameter : parameters) {
      if (const Argument* argument = findArgument(node, parameter)) addNodes(*argument, nodes);
    }
    return !parameters.empty();
  };
  if (node.operation == NodeOperation::CallMethod) {
    if (addChanged(changedByName(stringView(node.target)))) return nodes;
  } else if (std::optional<OperatorSchema> schema = operatorSchema(node.target)) {
    addChanged(schema->changed);
    return nodes;
  } else if (const CallableName& callable = callableNames().of(node.target);
             !isOperator(callable) && addChanged(changedByName(callable.name))) {
    return nodes;
  }
  if (!node.arguments.empty()) addNodes(node.arguments[0], nodes);
  return nodes;
}

bool returnsChanged(const Node& node) {
  if (node.operation == NodeOperation::CallFunction) {
    if (std::optional<OperatorSchema> schema = operatorSchema(node.target)) {
      return schema->returnsChanged || isInPlaceCall(node);
    }
  }
  std::string_view name = node.operation == NodeOperation::CallMethod
                              ? stringView(node.target)
                              : std::string_view(callableNames().of(node.target).name);
  if (changedByName(name).empty() || isInPlaceName(name) || isInPlaceCall(node)) return true;
  static auto* known = new llvm::StringMap<bool>();
  auto [entry, isNew] = known->try_emplace(name, true);
  if (isNew) entry->second = returnsChangedByName(name);
  return entry->second;
}

}  // namespace armature
