#include "graph/json.h"
#include "core/text.h"

#include <nlohmann/json.hpp>

#include <cmath>

#include "core/describe.h"

namespace armature {

namespace {

using nlohmann::json;

json constantToJson(BorrowedRef<> object) {
  PyObject* value = object.get();
  if (value == Py_None) return nullptr;
  if (PyBool_Check(value)) return value == Py_True;
  if (PyUnicode_CheckExact(value)) {
    return printable(value);
  }
  if (PyLong_CheckExact(value)) {
    int overflow = 0;
    long long number = PyLong_AsLongLongAndOverflow(value, &overflow);
    if (!overflow) return number;
  }
  if (PyFloat_CheckExact(value) && std::isfinite(PyFloat_AS_DOUBLE(value))) {
    return PyFloat_AS_DOUBLE(value);
  }
  return {{"constant", describe(object)}};
}

json argumentToJson(const Argument& argument) {
  if (argument.kind() == Argument::Kind::Node) return {{"node", argument.node()->name}};
  if (argument.kind() == Argument::Kind::Constant) return constantToJson(argument.object());
  json elements = json::array();
  for (size_t i = 0; i < argument.elements().size(); ++i) {
    json element = argumentToJson(argument.elements()[i]);
    if (argument.kind() == Argument::Kind::Dict) {
      json key = constantToJson(PyTuple_GET_ITEM(argument.object().get(), i));
      element = json::array({std::move(key), std::move(element)});
    }
    elements.push_back(std::move(element));
  }
  switch (argument.kind()) {
    case Argument::Kind::Tuple:
      return {{"tuple", std::move(elements)}};
    case Argument::Kind::List:
      return {{"list", std::move(elements)}};
    case Argument::Kind::Slice:
      return {{"slice", std::move(elements)}};
    default:
      return {{"dict", std::move(elements)}};
  }
}

const char* operationName(NodeOperation operation) {
  switch (operation) {
    case NodeOperation::Placeholder:
      return "placeholder";
    case NodeOperation::CallFunction:
      return "call_function";
    case NodeOperation::CallMethod:
      return "call_method";
    case NodeOperation::GetAttribute:
      return "get_attr";
    case NodeOperation::Output:
      return "output";
  }
  return "";
}

json numbersToJson(const Dimensions& dimensions) {
  json numbers = json::array();
  for (Dimension dimension : dimensions) numbers.push_back(dimension.value());
  return numbers;
}

json metadataToJson(const TensorMetadata& metadata) {
  return {{"text", toString(metadata)},
          {"sizes", numbersToJson(metadata.sizes)},
          {"strides", numbersToJson(metadata.strides)},
          {"requires_grad", metadata.requiresGrad}};
}

json nodeToJson(const Node& node) {
  json result = {
      {"name", node.name}, {"operation", operationName(node.operation)}, {"users", node.users}};
  if (node.source) result["source"] = node.source->name();
  if (node.operation == NodeOperation::Placeholder) {
    result["target"] = node.parameter;
  } else if (node.operation == NodeOperation::GetAttribute) {
    result["target"] = node.name;
    result["body"] = toJson(*node.body);
  } else if (node.target) {
    result["target"] = targetName(node.target);
  }
  if (node.operation != NodeOperation::Placeholder) {
    json arguments = json::array();
    for (const Argument& argument : node.arguments) arguments.push_back(argumentToJson(argument));
    result["arguments"] = std::move(arguments);
  }
  if (!node.keywordArguments.empty()) {
    json keywords = json::object();
    for (const auto& [name, argument] : node.keywordArguments) {
      keywords[printable(name)] = argumentToJson(argument);
    }
    result["keyword_arguments"] = std::move(keywords);
  }
  if (node.metadata) result["metadata"] = metadataToJson(*node.metadata);
  if (node.location.code) {
    result["location"] = {{"file", printable(node.location.code->co_filename)},
                          {"line", node.location.line},
                          {"function", printable(node.location.code->co_name)}};
  }
  return result;
}

}  // namespace

json toJson(const Graph& graph) {
  graph.nameNodes();
  json nodes = json::array();
  for (const auto& node : graph.nodes()) nodes.push_back(nodeToJson(*node));
  return {{"nodes", std::move(nodes)}};
}

}  // namespace armature
