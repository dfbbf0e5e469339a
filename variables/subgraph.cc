// Operations with a body: a call is traced as any other, and the operations that it did become a
// graph of their own.
#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/SmallPtrSet.h>

#include "core/text.h"
#include "variables/containers/dict.h"
#include "variables/containers/sequence.h"
#include "variables/protocol/object_protocol.h"
#include "variables/recursion_guard.h"
#include "variables/tensors/item_node.h"
#include "variables/tensors/tensor.h"
#include "variables/trailed.h"
#include "variables/translator.h"

namespace armature {

namespace {

// The arrays in what a body returned that the body has made.
class BodyResults {
 public:
  // `firstNode`, `firstSerial`: where the body began.
  BodyResults(Translator& translator, size_t firstNode, size_t firstSerial)
      : translator_(translator), firstNode_(firstNode), firstSerial_(firstSerial) {}

  void visit(const Value& value) {
    if (!value.isTracker()) return;
    VariableTracker* tracker = value.tracker();
    bool isOwn = !tracker->existing() && tracker->serial() >= firstSerial_;
    if (!isOwn || tracker->kind() == VariableKind::Lazy || !seen_.insert(tracker).second) return;
    RecursionGuard guard(translator_);
    if (auto* tensor = llvm::dyn_cast<TensorVariable>(tracker)) {
      addTensor(tensor);
    } else if (auto* sequence = llvm::dyn_cast<SequenceVariable>(tracker)) {
      for (const Value& item : sequence->items()) visit(item);
    } else if (auto* dict = llvm::dyn_cast<DictVariable>(tracker)) {
      dict->forEach(translator_, [&](const OrderedValueMap::Entry& entry) {
        visit(entry.key);
        visit(entry.value);
      });
    } else {
      throw GraphBreak(GraphBreakKind::ResultOfBody, describe(value));
    }
  }

  const std::vector<Node*>& nodes() const { return nodes_; }
  const std::vector<TensorVariable*>& tensors() const { return tensors_; }

 private:
  void addTensor(TensorVariable* tensor) {
    Node* node = tensor->node;
    bool isInput = node->operation == NodeOperation::Placeholder;
    if (isInput || static_cast<size_t>(node->index) < firstNode_) return;
    // What it is has to be known where the body cannot be asked any more.
    if (!tensor->library().metadata(node, translator_)) throw PendingPythonException();
    tensors_.push_back(tensor);
    if (!llvm::is_contained(nodes_, node)) nodes_.push_back(node);
  }

  Translator& translator_;
  size_t firstNode_, firstSerial_;
  llvm::SmallPtrSet<VariableTracker*, 8> seen_;
  std::vector<Node*> nodes_;
  std::vector<TensorVariable*> tensors_;
};

}  // namespace

Graph::Subgraph Translator::outline(size_t firstNode, std::vector<Node*> outputs) {
  Graph::Subgraph subgraph = graph->outline(firstNode, std::move(outputs));
  graphRecordedIn_ = 0;  // it has shrunk
  recordGraphGrowth();
  if (withoutChange_ > firstNode) assignTrailed(trail, withoutChange_, firstNode);
  return subgraph;
}

Node* Translator::addBodyCall(const Library& library, const Graph::Subgraph& body,
                              BorrowedRef<> bodyName, BorrowedRef<> target,
                              llvm::ArrayRef<Node*> inputs,
                              std::vector<std::pair<Ref<>, Argument>> keywords) {
  auto own = [&](Node* node) {
    node->library = library.kind();
    node->mode = mode(library);
    return node;
  };
  recordGraphGrowth();
  std::vector<Argument> arguments;
  arguments.push_back(Argument(own(graph->addSubgraph(body.graph, bodyName, location()))));
  for (Node* input : inputs) arguments.push_back(Argument(input));
  Node* node = own(graph->addCall(NodeOperation::CallFunction, target, std::move(arguments),
                                  std::move(keywords), location()));
  if (failureIsHandled_ && isForeign_) checkChange(library, node);
  return node;
}

Value Translator::callInSubgraph(const Library& library, const HigherOrderOperation& operation,
                                 const Value& callable, CallArguments& arguments) {
  size_t firstNode = graph->size(), firstSerial = arena.trackers().size();
  uint32_t modeBefore = mode(library);
  Value result;
  {
    SideEffects::BodyScope scope(effects, firstSerial);
    arguments.tail = false;
    result = call(*this, callable, arguments);
  }
  if (!result || mode(library) != modeBefore) {
    throw GraphBreak(GraphBreakKind::UnfinishedBody, describe(callable));
  }
  BodyResults results(*this, firstNode, firstSerial);
  results.visit(result);
  bool isEmpty = llvm::all_of(llvm::drop_begin(graph->nodes(), firstNode), [](const auto& node) {
    return node->operation == NodeOperation::Placeholder;
  });
  if (isEmpty) return result;

  Graph::Subgraph subgraph = outline(firstNode, results.nodes());
  std::vector<std::pair<Ref<>, Argument>> keywords;
  for (const auto& [name, constant] : operation.keywords) {
    keywords.emplace_back(name, Argument::constant(constant));
  }
  Node* node = addBodyCall(library, subgraph, operation.bodyName, operation.target, subgraph.inputs,
                           std::move(keywords));
  node->eagerTarget = operation.eagerTarget;

  llvm::DenseMap<Node*, Node*> items;
  for (size_t i = 0; i < results.nodes().size(); ++i) {
    Node* output = results.nodes()[i];
    Node* item = addItemNode(*this, library, node, i);
    item->mode = modeBefore;
    item->metadata = output->metadata;
    item->sizesObserved = output->sizesObserved;
    items[output] = item;
  }
  for (TensorVariable* tensor : results.tensors()) {
    assignTrailed(trail, tensor->node, items[tensor->node]);
  }
  return result;
}

}  // namespace armature
