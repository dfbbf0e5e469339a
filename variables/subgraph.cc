#include "variables/subgraph.h"

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/STLExtras.h>

#include "variables/containers/dict.h"
#include "variables/containers/sequence.h"
#include "variables/protocol/object_protocol.h"
#include "variables/recursion_guard.h"
#include "variables/tensors/item_node.h"
#include "variables/tensors/tensor.h"
#include "variables/trailed.h"

namespace armature {

Body::Body(Translator& translator, const Library& library, const Value& callable,
           CallArguments& arguments)
    : translator_(translator),
      library_(library),
      firstNode_(translator.graph->size()),
      firstSerial_(translator.arena.trackers().size()),
      mode_(translator.mode(library)) {
  {
    SideEffects::BodyScope scope(translator.effects, firstSerial_);
    arguments.tail = false;
    result_ = call(translator, callable, arguments);
  }
  if (!result_ || translator.mode(library) != mode_) {
    throw GraphBreak(GraphBreakKind::UnfinishedBody, describe(callable));
  }
  collect(result_);
}

void Body::collect(const Value& value) {
  if (!value.isTracker()) return;
  VariableTracker* tracker = value.tracker();
  bool isOwn = !tracker->existing() && tracker->serial() >= firstSerial_;
  if (auto* tensor = llvm::dyn_cast<TensorVariable>(tracker)) {
    returnsOthers_ |= !isOwn;
    if (isOwn && seen_.insert(tracker).second) addTensor(tensor);
    return;
  }
  if (!isOwn || tracker->kind() == VariableKind::Lazy) {
    returnsOthers_ = true;
    return;
  }
  if (!seen_.insert(tracker).second) return;
  RecursionGuard guard(translator_);
  if (auto* sequence = llvm::dyn_cast<SequenceVariable>(tracker)) {
    for (const Value& item : sequence->items()) collect(item);
  } else if (auto* dict = llvm::dyn_cast<DictVariable>(tracker)) {
    dict->forEach(translator_, [&](const OrderedValueMap::Entry& entry) {
      collect(entry.key);
      collect(entry.value);
    });
  } else {
    throw GraphBreak(GraphBreakKind::ResultOfBody, describe(value));
  }
}

void Body::addTensor(TensorVariable* tensor) {
  Node* node = tensor->node;
  bool isInput = node->operation == NodeOperation::Placeholder;
  if (isInput || static_cast<size_t>(node->index) < firstNode_) {
    returnsOthers_ = true;
    return;
  }
  // What it is has to be known where the body cannot be asked any more.
  if (!tensor->library().metadata(node, translator_)) throw PendingPythonException();
  tensors_.push_back(tensor);
  if (!llvm::is_contained(outputs_, node)) outputs_.push_back(node);
}

bool Body::isEmpty() const {
  return llvm::all_of(
      llvm::drop_begin(translator_.graph->nodes(), firstNode_),
      [](const auto& node) { return node->operation == NodeOperation::Placeholder; });
}

Graph::Subgraph Body::outline() { return translator_.outline(firstNode_, outputs_); }

void Body::takeItemsOf(Node* node) {
  llvm::DenseMap<Node*, Node*> items;
  for (size_t i = 0; i < outputs_.size(); ++i) {
    Node* item = addItemNode(translator_, library_, node, i);
    item->mode = mode_;
    item->metadata = outputs_[i]->metadata;
    item->sizesObserved = outputs_[i]->sizesObserved;
    items[outputs_[i]] = item;
  }
  for (TensorVariable* tensor : tensors_) {
    assignTrailed(translator_.trail, tensor->node, items[tensor->node]);
  }
}

Graph::Subgraph Translator::outline(size_t firstNode, std::vector<Node*> outputs) {
  Graph::Subgraph subgraph = graph->outline(firstNode, std::move(outputs));
  graphRecordedIn_ = 0;  // it has shrunk
  recordGraphGrowth();
  if (withoutChange_ > firstNode) assignTrailed(trail, withoutChange_, firstNode);
  return subgraph;
}

Node* Translator::addBody(const Library& library, const Graph::Subgraph& body, BorrowedRef<> name) {
  recordGraphGrowth();
  Node* node = graph->addSubgraph(body.graph, name, location());
  node->library = library.kind();
  node->mode = mode(library);
  return node;
}

Node* Translator::addOperation(const Library& library, BorrowedRef<> target,
                               std::vector<Argument> arguments,
                               std::vector<std::pair<Ref<>, Argument>> keywords) {
  recordGraphGrowth();
  Node* node = graph->addCall(NodeOperation::CallFunction, target, std::move(arguments),
                              std::move(keywords), location());
  node->library = library.kind();
  node->mode = mode(library);
  if (failureIsHandled_ && isForeign_) checkChange(library, node);
  return node;
}

Value Translator::callInSubgraph(const Library& library, const HigherOrderOperation& operation,
                                 const Value& callable, CallArguments& arguments) {
  Body body(*this, library, callable, arguments);
  if (body.isEmpty()) return body.result();
  Graph::Subgraph subgraph = body.outline();
  std::vector<Argument> passed = {Argument(addBody(library, subgraph, operation.bodyName))};
  passed.insert(passed.end(), subgraph.inputs.begin(), subgraph.inputs.end());
  std::vector<std::pair<Ref<>, Argument>> keywords;
  for (const auto& [name, constant] : operation.keywords) {
    keywords.emplace_back(name, Argument::constant(constant));
  }
  Node* node = addOperation(library, operation.target, std::move(passed), std::move(keywords));
  node->eagerTarget = operation.eagerTarget;
  body.takeItemsOf(node);
  return body.result();
}

}  // namespace armature
