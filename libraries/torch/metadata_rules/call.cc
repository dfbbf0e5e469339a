#include "libraries/torch/metadata_rules/call.h"

#include "libraries/torch/regions.h"
namespace armature {

namespace {

// "dim|axis" has the names dim and axis.
bool hasName(std::string_view aliases, std::string_view name) {
  while (!aliases.empty()) {
    size_t end = aliases.find('|');
    if (aliases.substr(0, end) == name) return true;
    if (end == std::string_view::npos) return false;
    aliases.remove_prefix(end + 1);
  }
  return false;
}

}  // namespace

Parameters::Parameters(std::string_view text) {
  bool keywordOnly = false;
  while (!text.empty()) {
    size_t end = std::min(text.find(' '), text.size());
    std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (word == ";") {
      keywordOnly = true;
      continue;
    }
    if (word.starts_with('*')) {
      variadic_ = static_cast<int>(names_.size());
      word.remove_prefix(1);
    }
    names_.push_back(word);
    if (!keywordOnly) ++positionalCount_;
  }
}

int Parameters::find(std::string_view keyword) const {
  for (size_t i = 0; i < names_.size(); ++i) {
    if (hasName(names_[i], keyword)) return static_cast<int>(i);
  }
  return kNone;
}

bool Call::bind(const Parameters& parameters) {
  arguments_.assign(parameters.count(), nullptr);
  variadic_ = parameters.variadic();
  for (size_t i = 0; i < node_.arguments.size(); ++i) {
    if (variadic_ != Parameters::kNone && i >= static_cast<size_t>(variadic_)) {
      rest_.push_back(&node_.arguments[i]);
      arguments_[variadic_] = &node_.arguments[i];
    } else if (i < parameters.positionalCount()) {
      arguments_[i] = &node_.arguments[i];
    } else {
      return false;
    }
  }
  for (const auto& [name, argument] : node_.keywordArguments) {
    int parameter = parameters.find(stringView(name));
    if (parameter == Parameters::kNone || arguments_[parameter]) return false;
    arguments_[parameter] = &argument;
  }
  return true;
}

bool Call::has(size_t parameter) const {
  return arguments_[parameter] && !isNone(*arguments_[parameter]);
}

const TensorMetadata* Call::tensor(const Argument& argument) const {
  if (argument.kind() != Argument::Kind::Node) return nullptr;
  const ResultStructure& input = inputs_(*argument.node());
  return input.kind == ResultStructure::Kind::Array ? input.metadata.get() : nullptr;
}

const TensorMetadata* Call::tensor(size_t parameter) const {
  return arguments_[parameter] ? tensor(*arguments_[parameter]) : nullptr;
}

std::optional<Scalar> Call::scalar(size_t parameter) const {
  if (!arguments_[parameter]) return std::nullopt;
  PyObject* object = arguments_[parameter]->object();
  if (!object || arguments_[parameter]->kind() != Argument::Kind::Constant) return std::nullopt;
  Scalar result;
  if (PyBool_Check(object)) {
    result.dtype = Bool;
    result.integer = object == Py_True;
    result.real = static_cast<double>(result.integer);
  } else if (PyLong_CheckExact(object)) {
    std::optional<int64_t> value = readInteger(*arguments_[parameter]);
    if (!value) return std::nullopt;
    result.integer = *value;
    result.real = static_cast<double>(*value);
  } else if (PyFloat_CheckExact(object)) {
    result.dtype = Float64;
    result.real = PyFloat_AS_DOUBLE(object);
  } else if (PyComplex_CheckExact(object)) {
    result.dtype = Complex128;
  } else {
    return std::nullopt;
  }
  return result;
}

std::optional<int64_t> Call::integer(size_t parameter) const {
  return arguments_[parameter] ? readInteger(*arguments_[parameter]) : std::nullopt;
}

std::optional<bool> Call::boolean(size_t parameter, bool standard) const {
  if (!arguments_[parameter]) return standard;
  PyObject* object = arguments_[parameter]->object();
  if (object == Py_True) return true;
  if (object == Py_False) return false;
  return std::nullopt;
}

bool Call::integers(size_t parameter, Dimensions& values) const {
  if (static_cast<int>(parameter) == variadic_ && rest_.size() > 1) {
    for (const Argument* argument : rest_) {
      std::optional<int64_t> value = readInteger(*argument);
      if (!value) return false;
      values.push_back(*value);
    }
    return true;
  }
  return arguments_[parameter] && readIntegers(*arguments_[parameter], values);
}

DType Call::dtype(size_t parameter) const {
  const Argument* argument = arguments_[parameter];
  return argument && argument->kind() == Argument::Kind::Constant ? dtypeNumber(argument->object())
                                                                  : DType{-1};
}

bool Call::tensors(size_t parameter, llvm::SmallVectorImpl<const TensorMetadata*>& values) const {
  const Argument* argument = arguments_[parameter];
  if (!argument) return false;
  if (argument->kind() == Argument::Kind::Node) {
    const ResultStructure& input = inputs_(*argument->node());
    bool isSequence =
        input.kind == ResultStructure::Kind::Tuple || input.kind == ResultStructure::Kind::List;
    if (!isSequence) return false;
    for (const ResultStructure& element : input.elements) {
      if (element.kind != ResultStructure::Kind::Array) return false;
      values.push_back(element.metadata.get());
    }
    return true;
  }
  if (argument->kind() != Argument::Kind::Tuple && argument->kind() != Argument::Kind::List) {
    return false;
  }
  for (const Argument& element : argument->elements()) {
    const TensorMetadata* metadata = tensor(element);
    if (!metadata) return false;
    values.push_back(metadata);
  }
  return true;
}

namespace {

bool requiresGrad(const ResultStructure& structure) {
  if (structure.metadata) return structure.metadata->requiresGrad;
  for (const ResultStructure& element : structure.elements) {
    if (requiresGrad(element)) return true;
  }
  return false;
}

}  // namespace

bool Call::gradientsFlow() const {
  bool any = false;
  forEachInput(node_, [&](Node* input) { any = any || requiresGrad(inputs_(*input)); });
  return any && hasGradients(node_.mode);
}

std::optional<int64_t> readInteger(const Argument& argument) {
  PyObject* object = argument.object();
  if (argument.kind() != Argument::Kind::Constant || !PyLong_CheckExact(object)) {
    return std::nullopt;
  }
  int overflow = 0;
  int64_t value = PyLong_AsLongLongAndOverflow(object, &overflow);
  if (overflow) return std::nullopt;
  return value;
}

bool readIntegers(const Argument& argument, Dimensions& values) {
  if (argument.kind() == Argument::Kind::Tuple || argument.kind() == Argument::Kind::List) {
    for (const Argument& element : argument.elements()) {
      std::optional<int64_t> value = readInteger(element);
      if (!value) return false;
      values.push_back(*value);
    }
    return true;
  }
  if (argument.kind() == Argument::Kind::Constant && PyTuple_Check(argument.object().get())) {
    PyObject* tuple = argument.object();
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple); ++i) {
      std::optional<int64_t> value = readInteger(Argument::constant(PyTuple_GET_ITEM(tuple, i)));
      if (!value) return false;
      values.push_back(*value);
    }
    return true;
  }
  std::optional<int64_t> value = readInteger(argument);
  if (value) values.push_back(*value);
  return value.has_value();
}

bool isNone(const Argument& argument) { return argument.object().get() == Py_None; }

std::optional<int64_t> wrapDimension(int64_t dimension, int64_t count) {
  int64_t bound = count ? count : 1;
  if (dimension < -bound || dimension >= bound) return std::nullopt;
  return dimension < 0 ? dimension + bound : dimension;
}

}  // namespace armature
