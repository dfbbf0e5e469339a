#include "graph/graph.h"

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/StringSet.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "core/fault_injection.h"
#include "core/graph_break.h"
#include "core/pending_python_exception.h"
#include "core/text.h"
#include "graph/namespace.h"

namespace armature {

namespace {

// The base of a node's name. FX: a callable's __name__, a method's name without its underscores.
std::string nameBase(const Node& node) {
  if (node.operation == NodeOperation::Output) return "output";
  if (node.operation == NodeOperation::GetAttribute) {
    return printable(node.target) + "_" + std::to_string(node.bodyNumber);
  }
  if (node.operation == NodeOperation::CallMethod) {
    const std::string text = printable(node.target);
    std::string_view name = text;
    if (name.size() > 4 && name.starts_with("__") && name.ends_with("__")) {
      name = name.substr(2, name.size() - 4);
    }
    return snakeCase(name);
  }
  Ref<> name = Ref<>::steal(PyObject_GetAttrString(node.target.get(), "__name__"));
  if (!name) clearException();
  return snakeCase(name && PyUnicode_Check(name.get()) ? printable(name)
                                                       : Py_TYPE(node.target.get())->tp_name);
}

// The parameter's name: the source's, with everything but letters and digits as underscores.
std::string parameterName(const Source* source, llvm::StringSet<>& used) {
  std::string name;
  name.reserve(source->name().size());
  for (char c : source->name()) {
    if (std::isalnum(static_cast<unsigned char>(c))) {
      name += c;
    } else if (!name.ends_with('_')) {
      name += '_';
    }
  }
  std::string unique = name;
  for (int i = 0; !used.insert(unique).second; ++i) unique = name + "_" + std::to_string(i);
  return unique;
}

}  // namespace

int Argument::traverse(visitproc visit, void* arg) const {
  Py_VISIT(constant_.get());
  for (const Argument& element : elements_) {
    if (int stop = element.traverse(visit, arg)) return stop;
  }
  return 0;
}

int Graph::traverse(visitproc visit, void* arg) const {
  for (const std::unique_ptr<Node>& node : nodes_) {
    Py_VISIT(node->target.get());
    Py_VISIT(node->example.get());
    for (const Argument& argument : node->arguments) {
      if (int stop = argument.traverse(visit, arg)) return stop;
    }
    for (const auto& [name, argument] : node->keywordArguments) {
      if (int stop = argument.traverse(visit, arg)) return stop;
    }
    Py_VISIT(node->eagerTarget.get());
    if (!node->body) continue;
    if (int stop = node->body->traverse(visit, arg)) return stop;
  }
  return 0;
}

namespace {

// The placeholder of that input; null if the graph does not use it.
const Node* inputOf(const Graph& graph, const Source* source) {
  if (!source) return nullptr;
  auto found = llvm::find_if(graph.nodes(), [&](const auto& node) {
    return node->source && node->source->name() == source->name();
  });
  return found == graph.nodes().end() ? nullptr : found->get();
}

}  // namespace

Node* Graph::addPlaceholder(const Source* source, BorrowedRef<> example) {
  faultSite();
  auto node = std::make_unique<Node>();
  node->operation = NodeOperation::Placeholder;
  node->index = static_cast<int32_t>(nodes_.size());
  node->ordinal = nextOrdinal();
  node->source = source;
  node->example = Ref<>::create(example);
  // What the graph that failed has made of the input by now is none of the trace's business.
  if (const Node* first = first_ ? inputOf(*first_, source) : nullptr) {
    node->metadata = first->metadata;
  }
  return nodes_.emplace_back(std::move(node)).get();
}

bool Graph::keepsApart(const Source* one, const Source* other) const {
  return first_ && one != other && inputOf(*first_, one) && inputOf(*first_, other);
}

Node* Graph::addCall(NodeOperation operation, BorrowedRef<> target, std::vector<Argument> arguments,
                     std::vector<std::pair<Ref<>, Argument>> keywordArguments,
                     ProgramLocation location) {
  faultSite();
  if (nextOrdinal() == breakAt_) {
    throw GraphBreak(GraphBreakKind::FailedOperation, targetName(target));
  }
  auto node = std::make_unique<Node>();
  node->operation = operation;
  node->index = static_cast<int32_t>(nodes_.size());
  node->ordinal = nextOrdinal();
  node->target = Ref<>::create(target);
  node->arguments = std::move(arguments);
  node->keywordArguments = std::move(keywordArguments);
  node->location = location;
  if (location.code && (codes_.empty() || codes_.back().get() != location.code)) {
    codes_.push_back(Ref<PyCodeObject>::create(location.code));
  }
  return nodes_.emplace_back(std::move(node)).get();
}

Graph::Subgraph Graph::outline(size_t first, Argument output, const Parameters& parameters) {
  Subgraph result{std::make_shared<Graph>(sources_), {}, parameters.own.size()};
  Graph& body = *result.graph;
  body.codes_ = codes_;
  llvm::DenseMap<Node*, Node*> replacements;
  auto inside = [&](Node* node) {
    Node*& replacement = replacements[node];
    if (replacement) return replacement;
    auto input = std::make_unique<Node>();
    input->operation = NodeOperation::Placeholder;
    input->ordinal = node->ordinal;
    input->outer = node;
    input->metadata = node->metadata;
    result.inputs.push_back(node);
    return replacement = body.nodes_.emplace_back(std::move(input)).get();
  };
  for (Node* parameter : parameters.own) {
    replacements[parameter] = parameter;
    body.nodes_.push_back(std::move(nodes_[parameter->index]));
    parameter->operation = NodeOperation::Placeholder;
    parameter->target = nullptr;
    parameter->arguments.clear();
  }
  std::vector<std::unique_ptr<Node>> moved;
  for (size_t i = first; i < nodes_.size(); ++i) {
    if (!nodes_[i] || nodes_[i]->operation == NodeOperation::Placeholder) continue;
    replacements[nodes_[i].get()] = nodes_[i].get();
    moved.push_back(std::move(nodes_[i]));
  }
  for (const auto& node : moved) {
    for (Argument& argument : node->arguments) argument.replaceNodes(inside);
    for (auto& [name, argument] : node->keywordArguments) argument.replaceNodes(inside);
  }
  for (Node* node : parameters.passed) inside(node);
  output.replaceNodes(inside);
  body.output_ = std::move(output);
  std::move(moved.begin(), moved.end(), std::back_inserter(body.nodes_));
  askAgainFrom(0);
  std::erase(nodes_, nullptr);
  for (Graph* graph : {this, &body}) {
    for (size_t i = 0; i < graph->nodes_.size(); ++i) {
      graph->nodes_[i]->index = static_cast<int32_t>(i);
    }
  }
  return result;
}

void Graph::Subgraph::sortByName(std::vector<Input>& inputs) {
  auto key = [](const Input& input) {
    const Node& node = *input.outer;
    llvm::StringSet<> none;
    if (node.operation == NodeOperation::Placeholder) {
      return snakeCase(parameterName(node.source, none));
    }
    std::string variable = node.variableName ? printable(node.variableName) : "";
    return variable.empty() ? nameBase(node) : variable;
  };
  std::stable_sort(inputs.begin(), inputs.end(),
                   [&](const Input& one, const Input& other) { return key(one) < key(other); });
}

void Graph::Subgraph::arrange(llvm::ArrayRef<Input> wanted) {
  std::vector<std::unique_ptr<Node>> nodes;
  for (size_t i = 0; i < parameterCount; ++i) nodes.push_back(std::move(graph->nodes_[i]));
  for (const Input& input : wanted) {
    auto used = llvm::find(inputs, input.outer);
    std::unique_ptr<Node> node;
    if (used != inputs.end()) {
      node = std::move(graph->nodes_[parameterCount + (used - inputs.begin())]);
    } else {
      node = std::make_unique<Node>();
      node->operation = NodeOperation::Placeholder;
      node->ordinal = input.outer->ordinal;
      node->outer = input.outer;
      node->metadata = input.outer->metadata;
    }
    node->parameterSuffix = input.parameterSuffix;
    nodes.push_back(std::move(node));
  }
  for (auto& node : graph->nodes_) {
    if (node) nodes.push_back(std::move(node));
  }
  graph->nodes_ = std::move(nodes);
  for (size_t i = 0; i < graph->nodes_.size(); ++i) {
    graph->nodes_[i]->index = static_cast<int32_t>(i);
  }
  inputs.clear();
  for (const Input& input : wanted) inputs.push_back(input.outer);
}

Node* Graph::addSubgraph(std::shared_ptr<Graph> body, BorrowedRef<> name,
                         ProgramLocation location) {
  Node* node = addCall(NodeOperation::GetAttribute, name, {}, {}, location);
  node->body = std::move(body);
  return node;
}

void Graph::finish(const std::vector<Node*>& outputs, bool (*isPure)(const Node&)) {
  finishWith(Argument::aggregate(Argument::Kind::Tuple, {outputs.begin(), outputs.end()}), isPure,
             false);
}

void Graph::finishWith(Argument returned, bool (*isPure)(const Node&), bool isSubgraph) {
  askAgainFrom(0);
  auto output = std::make_unique<Node>();
  output->operation = NodeOperation::Output;
  output->arguments.push_back(std::move(returned));
  nodes_.push_back(std::move(output));

  for (const auto& node : nodes_) {
    forEachInput(*node, [](Node* input) { ++input->users; });
  }
  // Users come after what they use, so one pass backwards finds everything that is dead.
  for (size_t i = nodes_.size(); i-- > 0;) {
    Node& node = *nodes_[i];
    if (node.users != 0 || node.operation == NodeOperation::Output) continue;
    bool isInput = node.operation == NodeOperation::Placeholder;
    if (isInput ? isSubgraph : node.operation != NodeOperation::GetAttribute && !isPure(node)) {
      continue;
    }
    if (!isInput && (node.isHeld() || keepsValue(node))) continue;
    forEachInput(node, [](Node* input) { --input->users; });
    nodes_[i] = nullptr;
  }
  if (!isSubgraph) dropModeChanges();
  std::erase(nodes_, nullptr);

  unnamed_.reserve(nodes_.size());
  for (const auto& node : nodes_) unnamed_.push_back(node.get());
  std::stable_partition(nodes_.begin(), nodes_.end(), [](const auto& node) {
    return node->operation == NodeOperation::Placeholder;
  });
  for (size_t i = 0; i < nodes_.size(); ++i) nodes_[i]->index = static_cast<int32_t>(i);
  for (const auto& node : nodes_) {
    if (node->body) node->body->finishWith(node->body->output_, isPure, true);
  }
}

void Graph::liftNumbers() {
  llvm::DenseMap<const SymNode*, Node*> inputs;
  std::vector<std::unique_ptr<Node>> added;
  auto lift = [&](const Node* user, Argument& argument) {
    Node*& input = inputs[argument.number()];
    if (!input) {
      static PyObject* const name = PyUnicode_InternFromString("number");
      auto node = std::make_unique<Node>();
      node->operation = NodeOperation::Placeholder;
      node->ordinal = -1;
      node->number = argument.number();
      node->source = argument.number()->source;
      if (!node->source) node->variableName = Ref<>::create(name);
      input = added.emplace_back(std::move(node)).get();
      auto place = llvm::find(unnamed_, user);
      if (place != unnamed_.end()) unnamed_.insert(place, input);
    }
    ++input->users;
    argument.liftNumber(input);
  };
  for (const auto& node : nodes_) {
    auto liftHere = [&](Argument& argument) { lift(node.get(), argument); };
    for (Argument& argument : node->arguments) argument.forEachNumber(liftHere);
    for (auto& [name, argument] : node->keywordArguments) argument.forEachNumber(liftHere);
  }
  auto firstCall = llvm::find_if(
      nodes_, [](const auto& node) { return node->operation != NodeOperation::Placeholder; });
  nodes_.insert(firstCall, std::make_move_iterator(added.begin()),
                std::make_move_iterator(added.end()));
  for (size_t i = 0; i < nodes_.size(); ++i) nodes_[i]->index = static_cast<int32_t>(i);
}

void Graph::dropModeChanges() {
  std::unique_ptr<Node>* before = nullptr;  // the call before, if it sets a mode
  for (auto& node : nodes_) {
    if (!node || node->operation == NodeOperation::Placeholder) continue;
    bool isPair = before && node->newMode && node->library == (*before)->library &&
                  *node->newMode == (*before)->mode && !node->users && !(*before)->users;
    if (isPair) {
      *before = nullptr;
      node = nullptr;
    }
    before = node && node->newMode ? &node : nullptr;
  }
}

void Graph::nameNodes() const {
  if (unnamed_.empty()) return;
  llvm::StringMap<int32_t> numbers;
  numberBodies(numbers);
  nameOwnNodes();
}

void Graph::numberBodies(llvm::StringMap<int32_t>& numbers) const {
  // Bodies that one call is given stand beside each other, and are made before any is numbered.
  auto isBody = [](const auto& node) { return node->operation == NodeOperation::GetAttribute; };
  for (auto node = nodes_.begin(); node != nodes_.end();) {
    if (!isBody(*node)) {
      ++node;
      continue;
    }
    auto end = std::find_if_not(node, nodes_.end(), isBody);
    for (auto body = node; body != end; ++body) (*body)->body->numberBodies(numbers);
    for (; node != end; ++node) (*node)->bodyNumber = numbers[printable((*node)->target)]++;
  }
}

void Graph::nameOwnNodes() const {
  // In the order in which TorchDynamo creates nodes, which is the program's.
  Namespace names;
  llvm::StringSet<> parameters;
  for (Node* node : unnamed_) {
    if (node->operation == NodeOperation::Placeholder) {
      const char* suffix = node->parameterSuffix;
      node->parameter = node->source  ? parameterName(node->source, parameters)
                        : node->outer ? node->outer->name
                                      : printable(node->variableName);
      if (suffix && *suffix) node->parameter += std::string("_") + suffix;
      if (suffix && !*suffix) names.createName(snakeCase(node->parameter));
      node->name = names.createName(snakeCase(node->parameter));
      if (!node->source && !node->outer) node->parameter = node->name;
    } else {
      node->name = names.createName(nameBase(*node));
      std::string variable = node->variableName ? printable(node->variableName) : "";
      if (!variable.empty() && node->name != variable) node->name = names.createName(variable);
    }
  }
  for (const auto& node : nodes_) {
    if (node->body) node->body->nameOwnNodes();
  }
  unnamed_.clear();
}

std::vector<Node*> Graph::placeholders() const {
  std::vector<Node*> result;
  for (const auto& node : nodes_) {
    if (node->operation == NodeOperation::Placeholder) result.push_back(node.get());
  }
  return result;
}

size_t Graph::operationCount() const {
  return llvm::count_if(nodes_, [](const auto& node) { return node->isCall(); });
}

}  // namespace armature
