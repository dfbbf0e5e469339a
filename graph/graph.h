// The graph of array operations that a trace recorded: FX's data model, in C++.
//
// Nodes are appended in program order and never reordered; a trace that rewinds truncates. Names
// depend only on what stayed, and are given when somebody asks for a text (Graph::nameNodes).
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <llvm/ADT/ArrayRef.h>
#include <llvm/ADT/StringMap.h>

#include "core/ref.h"
#include "shapes/sym_node.h"
#include "shapes/tensor_metadata.h"
#include "sources/source.h"

namespace armature {

class Node;

// An argument of a node: a node, a constant, or a tuple, list, dict or slice of arguments.
class Argument {
 public:
  enum class Kind : uint8_t { Constant, Node, Tuple, List, Dict, Slice };

  Argument(Node* node) : kind_(Kind::Node), node_(node) {}
  static Argument constant(BorrowedRef<> object) {
    Argument result(Kind::Constant);
    result.constant_ = Ref<>::create(object);
    return result;
  }
  // A number that varies from call to call, by what it is in this one. Where only its type matters
  // to all that is said of the graph, it is a constant to everybody until Graph::liftNumbers().
  static Argument number(const SymNode* number) {
    Argument result = constant(number->hint);
    result.number_ = number;
    return result;
  }
  // Slice: three elements (start, stop, step). Dict: values, with `keys` a tuple of constants.
  static Argument aggregate(Kind kind, std::vector<Argument> elements, Ref<> keys = nullptr) {
    Argument result(kind);
    result.elements_ = std::move(elements);
    result.constant_ = std::move(keys);
    return result;
  }

  Kind kind() const { return kind_; }
  Node* node() const { return node_; }
  BorrowedRef<> object() const { return constant_; }  // constant, or the keys of a dict
  // Null of all but numbers that vary. It dies with the trace; that there was one stays known.
  const SymNode* number() const { return number_; }
  const std::vector<Argument>& elements() const { return elements_; }
  int traverse(visitproc visit, void* arg) const;
  // Puts replacement(node) in the place of every node among its parts.
  template <class Replacement>
  void replaceNodes(Replacement&& replacement) {
    if (kind_ == Kind::Node) node_ = replacement(node_);
    for (Argument& element : elements_) element.replaceNodes(replacement);
  }
  // Calls visit(argument) with every number that varies among its parts.
  template <class Visitor>
  void forEachNumber(Visitor&& visit) {
    if (number_ && kind_ == Kind::Constant) visit(*this);
    for (Argument& element : elements_) element.forEachNumber(visit);
  }
  // Makes a number the value of a placeholder.
  void liftNumber(Node* placeholder) {
    kind_ = Kind::Node;
    node_ = placeholder;
  }

 private:
  explicit Argument(Kind kind) : kind_(kind) {}
  Kind kind_;
  Node* node_ = nullptr;
  const SymNode* number_ = nullptr;
  Ref<> constant_;
  std::vector<Argument> elements_;
};

enum class NodeOperation : uint8_t {
  Placeholder,   // an input; `source` says which, or, in a subgraph, `outer`
  CallFunction,  // target is a callable
  CallMethod,    // target is a str; the first argument is self
  GetAttribute,  // a subgraph, `body`; target is the str that its name begins with
  Output,        // one argument: a tuple of the results; of a subgraph, anything
};

// Where in the traced program a node was made.
struct ProgramLocation {
  PyCodeObject* code = nullptr;  // kept alive by Graph
  int32_t line = -1;
};

class Graph;

class Node {
 public:
  NodeOperation operation;
  int32_t index;  // position in the graph
  // Position in the trace: how many nodes were added before it, those of calls included that raised
  // and were dropped, and those that were moved into a subgraph. Stays when finish() renumbers, and
  // is the same in another trace of the same call.
  int32_t ordinal;
  Ref<> target;                    // callable, or str
  const Source* source = nullptr;  // Placeholder of the outermost graph only
  // Placeholder of the outermost graph only: the number that is passed for it, which dies with the
  // trace. Null for arrays.
  const SymNode* number = nullptr;
  // Placeholder of a subgraph only: the node of the graph around it that is passed for it. Null of
  // a parameter, which the operation itself gives a value; its name is `variableName`.
  Node* outer = nullptr;
  // Placeholder of a subgraph only: what its parameter's name ends with. Null where it is named as
  // the node outside, and so is the node; "" where FX has made a node of that name before.
  const char* parameterSuffix = nullptr;
  std::shared_ptr<Graph> body;  // GetAttribute only
  // GetAttribute only: what its name ends with; 0 before Graph::nameNodes().
  int32_t bodyNumber = 0;
  // What the eager backend calls instead of the target; null: the target.
  Ref<> eagerTarget;
  bool isCall() const {
    return operation == NodeOperation::CallFunction || operation == NodeOperation::CallMethod;
  }
  std::vector<Argument> arguments;
  std::vector<std::pair<Ref<>, Argument>> keywordArguments;  // str, argument
  ProgramLocation location;
  // The program had the value when a later call might have failed, which then needs it: it is
  // computed, used or not, and kept until the call of that ordinal is done. Negative: none.
  int32_t heldUntil = -1;
  static constexpr int32_t kToTheEnd = std::numeric_limits<int32_t>::max();
  bool isHeld() const { return heldUntil >= 0; }
  // Known when somebody asked; null otherwise. Shared with guards.
  std::shared_ptr<const TensorMetadata> metadata;
  // Calls only. The library whose operation it is.
  ArrayLibraryKind library = ArrayLibraryKind::Torch;
  // Guards hold the sizes of all inputs from which this was computed.
  bool sizesObserved = false;
  // The strides of the metadata are those that the array will have; of what NumPy computes they
  // are not, before somebody asks (Library::layout).
  bool layoutKnown = false;
  // Calls only. Arrays of several libraries are among its arguments and its result.
  bool mixesLibraries = false;
  // Calls only. The mode of the library in which the program runs it, by the library's own number
  // (torch: 1 with gradients, 0 without).
  uint32_t mode = 1;
  // Calls that set that mode: the mode behind them. Empty for all others.
  std::optional<uint32_t> newMode;
  // Calls only. Evaluated for its metadata without an error, and one of those that raise on no
  // data: it will not raise when it runs.
  bool checked = false;
  // Calls only. All the same it may, where arrays that it changes share memory with others.
  bool mayMeetInMemory = false;
  // Calls only. A later call that changes the array, which keeps its name here; or null.
  Node* alteredBy = nullptr;
  // Calls only. It changes the array of its first argument and returns that, which the program did
  // not look at: to those who read the graph, the array goes on by the name that it had before.
  bool keepsName = false;
  // Is it known only inside of a transform of functions? Noted by the library when it was asked.
  enum class TransformRelation : uint8_t { Unknown, Outside, Inside };
  mutable TransformRelation transformRelation = TransformRelation::Unknown;
  // Calls only. Does it change one of its arguments? Noted likewise.
  enum class Change : uint8_t { Unknown, None, Argument };
  mutable Change change = Change::Unknown;
  // Placeholder only: the object that the traced call passed, for a backend's example inputs.
  // Dropped when the graph is compiled.
  Ref<> example;
  // The variable that the program first stored the result in (str), or null: the node is named
  // after it, as TorchDynamo does. Empty where it is to be named after none.
  Ref<> variableName;
  // FX's name (unique within the graph); empty before Graph::nameNodes().
  std::string name;
  // Placeholder only: the parameter's name ("L_x_"), unique; empty before Graph::nameNodes().
  std::string parameter;
  // Number of arguments (of other nodes) that refer to this node; valid after Graph::finish().
  int32_t users = 0;
};

class Graph {
 public:
  explicit Graph(std::shared_ptr<SourceTable> sources) : sources_(std::move(sources)) {}

  Node* addPlaceholder(const Source* source, BorrowedRef<> example);
  Node* addCall(NodeOperation operation, BorrowedRef<> target, std::vector<Argument> arguments,
                std::vector<std::pair<Ref<>, Argument>> keywordArguments, ProgramLocation location);
  // The call that would get this ordinal breaks the graph instead.
  void breakAt(int32_t ordinal) { breakAt_ = ordinal; }
  // As `first`, whose call of that ordinal failed, up to that call: another trace of the program
  // with other inputs, among which one object may stand for two. Kept alive by the caller.
  // `failedInBody`: the call that failed, where it is in a body of that one; else -1.
  void makeAgain(const Graph& first, int32_t failed, int32_t failedInBody) {
    first_ = &first;
    breakAt_ = failed;
    failedInBody_ = failedInBody;
  }
  // Is the next call the one which failed in a body?
  bool comesToFailureInBody() const { return nextOrdinal() == failedInBody_; }
  // Has the graph that is made again an input for each of the sources?
  bool keepsApart(const Source* one, const Source* other) const;
  // A call of that ordinal may fail and be gone on with (codegen/graph_failure.h): what comes
  // before it is computed, used or not, and kept until it is done.
  void keepValuesUntil(int32_t ordinal) { keptUntil_ = std::max(keptUntil_, ordinal); }
  bool keepsValue(const Node& node) const { return node.ordinal < keptUntil_; }
  void keepAllValues() { keptUntil_ = std::numeric_limits<int32_t>::max(); }
  // Drops the nodes from `size` on (what a rewind does).
  void truncate(size_t size) {
    if (size < nodes_.size()) nodes_.resize(size);
    askAgainFrom(size);
  }
  int32_t nextOrdinal() const { return static_cast<int32_t>(nodes_.size()) + dropped_; }
  // How many ordinals are those of nodes that were dropped, because their call raised, or moved.
  int32_t& dropped() { return dropped_; }

  // A graph inside of a graph, and the nodes outside that it uses, in the order in which it does:
  // they are passed for its placeholders.
  struct Subgraph {
    struct Input {
      Node* outer;
      const char* parameterSuffix;
    };
    std::shared_ptr<Graph> graph;
    std::vector<Node*> inputs;
    // The placeholders before those: parameters, to which the operation itself gives values.
    size_t parameterCount = 0;
    // By the names that the nodes outside would have if there were no others of the same name.
    static void sortByName(std::vector<Input>& inputs);
    // Makes these the inputs, among which are all that there are.
    void arrange(llvm::ArrayRef<Input> wanted);
  };
  // What a subgraph takes besides what it uses.
  struct Parameters {
    // Some of the calls that are moved: they stand for values that the operation gives.
    std::vector<Node*> own;
    // Nodes outside that are passed even if nothing uses them, behind those that something does.
    std::vector<Node*> passed;
  };
  // Moves the calls from `first` on into a graph of their own, which returns `output`.
  // Placeholders stay.
  Subgraph outline(size_t first, Argument output, const Parameters& parameters);
  // What a subgraph returns, until it is finished.
  const Argument& output() const { return output_; }
  void returns(Argument output) { output_ = std::move(output); }
  // Adds the node by which the graph refers to a subgraph.
  Node* addSubgraph(std::shared_ptr<Graph> body, BorrowedRef<> name, ProgramLocation location);

  // Adds the output node, drops pure nodes that nobody uses and unused placeholders, and puts the
  // placeholders first, as FX wants them. Afterwards the graph does not change.
  // Dropping is allowed only for targets of which the predicate says that they have no effect
  // besides their result.
  // Two neighbours of which the second sets back the mode that the first sets are dropped, too, as
  // TorchDynamo does.
  // The same is done to subgraphs, whose placeholders and changes of modes stay.
  void finish(const std::vector<Node*>& outputs, bool (*isPure)(const Node&));

  // Makes the numbers that vary inputs of a finished graph, behind its arrays.
  void liftNumbers();

  // Names the nodes of a finished graph as TorchDynamo does, and those of its subgraphs, once.
  void nameNodes() const;

  const std::vector<std::unique_ptr<Node>>& nodes() const { return nodes_; }
  // What is asked of one node after the other, and answered the same as long as the node is there.
  enum class Question : uint8_t { SaysGradients, ChangesWithGradients, HasEffect };
  // The nodes from the first one on for which the answer is yes. Asks each node before once, so
  // that where there is none, to ask behind each call costs no more than the calls.
  template <class Predicate>
  llvm::ArrayRef<std::unique_ptr<Node>> from(Question question, Predicate isIt) const {
    size_t& others = others_[static_cast<size_t>(question)];
    while (others < nodes_.size() && !isIt(*nodes_[others])) ++others;
    return llvm::ArrayRef(nodes_).drop_front(others);
  }
  size_t size() const { return nodes_.size(); }
  // Visits the objects that the nodes hold, for the garbage collector.
  int traverse(visitproc visit, void* arg) const;
  // In graph order; valid any time.
  std::vector<Node*> placeholders() const;
  bool empty() const { return operationCount() == 0; }
  // Number of CallFunction and CallMethod nodes.
  size_t operationCount() const;
  std::shared_ptr<SourceTable> sources() const { return sources_; }

 private:
  void finishWith(Argument returned, bool (*isPure)(const Node&), bool isSubgraph);
  void dropModeChanges();
  // Numbers the bodies of each name in the order in which they are complete: `numbers` of them
  // were.
  void numberBodies(llvm::StringMap<int32_t>& numbers) const;
  void nameOwnNodes() const;

  // The nodes from there on are other ones.
  void askAgainFrom(size_t first) const {
    for (size_t& others : others_) others = std::min(others, first);
  }

  std::shared_ptr<SourceTable> sources_;
  std::vector<std::unique_ptr<Node>> nodes_;
  mutable std::array<size_t, 3> others_{};  // by Question: how many nodes at the front answer no
  Argument output_ = nullptr;               // of a subgraph, until it is finished
  mutable std::vector<Node*> unnamed_;      // of a finished graph: all nodes, in program order
  std::vector<Ref<PyCodeObject>> codes_;
  int32_t dropped_ = 0;
  int32_t breakAt_ = -1, failedInBody_ = -1;
  int32_t keptUntil_ = 0;
  const Graph* first_ = nullptr;  // see makeAgain()
};

// Calls `visit` with every node among an argument's parts, in order, once for each mention.
template <class Visitor>
void forEachInput(const Argument& argument, Visitor&& visit) {
  if (argument.kind() == Argument::Kind::Node) {
    visit(argument.node());
    return;
  }
  for (const Argument& element : argument.elements()) forEachInput(element, visit);
}
template <class Visitor>
void forEachInput(const Node& node, Visitor&& visit) {
  for (const Argument& argument : node.arguments) forEachInput(argument, visit);
  for (const auto& [name, argument] : node.keywordArguments) forEachInput(argument, visit);
}

// The graph as FX prints the code of its GraphModule (print_readable): class GraphModule, forward,
// annotations "f32[2, 3]" where metadata is known, source lines as comments.
std::string toString(const Graph& graph);

// How FX writes a call target: "torch.add", "operator.add", "torch._C._nn.linear", "numpy.where".
std::string targetName(BorrowedRef<> target);

// What a node's value is like, for node.meta["example_value"]; null without an exception set where
// that is not known, with one on failure. With it, placeholders have the types of what the traced
// call passed.
using ExampleValues = llvm::function_ref<Ref<>(const Node&)>;

// A real torch.fx.GraphModule of the finished graph: same nodes, names and targets; placeholders
// in order. Null with an exception set on failure
// (ImportError where torch is missing).
Ref<> toTorchGraphModule(const Graph& graph, ExampleValues exampleValues = nullptr);
// The torch.fx.Graph of that, whose targets may be callables of which torch.fx cannot write code.
// Null with an exception set on failure.
Ref<> toTorchGraph(const Graph& graph);

// The eager backend: a Python function of the placeholders, positionally, which runs the nodes in
// order and returns the tuple of outputs; written as bytecode, no text, no exec. Intermediate
// values are dropped at their last use. The column of an instruction's position is the ordinal of
// its node, so that a traceback tells which one raised; if that does not come before the node of
// index `keepFrom`, the frame has its operands still, in locals (valueName). Null with an exception
// set on failure.
constexpr int32_t kKeepNone = INT32_MAX;
Ref<> toFunction(const Graph& graph, int32_t keepFrom = kKeepNone);
// The name of the local that holds the result of the node with that index: a str, borrowed.
BorrowedRef<> valueName(int32_t index);

}  // namespace armature
