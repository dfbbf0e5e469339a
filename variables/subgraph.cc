#include "variables/subgraph.h"
#include "variables/constants/sym_node_variable.h"

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/STLExtras.h>

#include "variables/containers/dict.h"
#include "variables/containers/sequence.h"
#include "variables/functions/partial.h"
#include "variables/protocol/object_protocol.h"
#include "variables/recursion_guard.h"
#include "variables/tensors/item_node.h"
#include "variables/tensors/tensor.h"
#include "variables/trailed.h"

namespace armature {

Body::Body(Translator& translator, const Library& library, const Value& callable,
           CallArguments& arguments, AddParameters addParameters)
    : translator_(translator),
      library_(library),
      callable_(describe(callable)),
      firstNode_(translator.graph->size()),
      firstSerial_(translator.arena.trackers().size()),
      mode_(translator.mode(library)) {
  // In the order of TorchDynamo's inputs: what is passed, then what the body looks at.
  if (auto* partial = trackerOf<PartialVariable>(callable)) {
    if (auto* first = trackerOf<SequenceVariable>(translator.realized(partial->arguments))) {
      for (const Value& argument : first->items()) translator.realized(argument);
    }
  }
  for (Value& argument : arguments.values) translator.realize(argument);
  if (addParameters) parameters_ = addParameters(arguments);
  {
    SideEffects::BodyScope scope(translator.effects, translator.arena.trackers().size());
    arguments.tail = false;
    result_ = call(translator, callable, arguments);
  }
  if (!result_) return;
  if (translator.mode(library) != mode_) {
    throw GraphBreak(GraphBreakKind::UnfinishedBody, callable_);
  }
  collect(result_);
}

void Body::requireResult() const {
  if (!result_) throw GraphBreak(GraphBreakKind::UnfinishedBody, callable_);
}

void Body::collect(const Value& given) {
  // What is there before is looked at as far as it may be an array.
  Value value = translator_.realized(given);
  if (!value.isTracker()) return;
  VariableTracker* tracker = value.tracker();
  if (!seen_.insert(tracker).second) return;
  if (auto* tensor = llvm::dyn_cast<TensorVariable>(tracker)) return addTensor(tensor);
  if (tracker->existing() || tracker->serial() < firstSerial_) {
    returnsOthers_ = true;
    return;
  }
  RecursionGuard guard(translator_);
  if (auto* sequence = llvm::dyn_cast<SequenceVariable>(tracker)) {
    for (const Value& item : sequence->items()) collect(item);
  } else if (auto* dict = llvm::dyn_cast<DictVariable>(tracker)) {
    dict->forEach(translator_, [&](const OrderedValueMap::Entry& entry) {
      collect(entry.key);
      collect(entry.value);
    });
  } else {
    std::vector<Value> parts;
    translator_.forEachPart(tracker, [&](const Value& part) {
      if (part) parts.push_back(part);
    });
    for (const Value& part : parts) collect(part);
  }
}

void Body::addTensor(TensorVariable* tensor) {
  Node* node = tensor->node;
  bool isInput = node->operation == NodeOperation::Placeholder;
  bool isOther = isInput || static_cast<size_t>(node->index) < firstNode_ ||
                 llvm::is_contained(parameters_, node);
  if (isOther) {
    returnsOthers_ = true;
    others_.insert(node);
  } else {
    // What it is has to be known where the body cannot be asked any more.
    if (!tensor->library().metadata(node, translator_)) throw PendingPythonException();
    tensors_.push_back(tensor);
  }
  if (!llvm::is_contained(outputs_, node)) outputs_.push_back(node);
}

Graph::Subgraph Body::outline(Argument::Kind form) {
  return outlineAs(Argument::aggregate(form, {outputs_.begin(), outputs_.end()}));
}

Graph::Subgraph Body::outlineOne() { return outlineAs(Argument(outputs_.front())); }

Graph::Subgraph Body::outlineAs(Argument output) {
  return translator_.outline(firstNode_, std::move(output), {parameters_, {}});
}

void Body::takeItemsOf(Node* node) {
  llvm::DenseMap<Node*, Node*> items;
  for (size_t i = 0; i < outputs_.size(); ++i) {
    if (others_.contains(outputs_[i])) continue;
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

void Translator::holdNumbers(size_t firstNode) {
  auto hold = [&](const Argument& argument) { holdNumber(*this, *argument.number()); };
  for (size_t i = firstNode; i < graph->size(); ++i) {
    Node& node = *graph->nodes()[i];
    for (Argument& argument : node.arguments) argument.forEachNumber(hold);
    for (auto& [name, argument] : node.keywordArguments) argument.forEachNumber(hold);
  }
}

Graph::Subgraph Translator::outline(size_t firstNode, Argument output,
                                    const Graph::Parameters& parameters) {
  holdNumbers(firstNode);  // What a body is given are arrays.
  int32_t next = graph->nextOrdinal();
  Graph::Subgraph subgraph = graph->outline(firstNode, std::move(output), parameters);
  keepOrdinalsBelow(next);
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
  // What it had done when it raised, it did.
  if (!body.result()) return body.result();
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
