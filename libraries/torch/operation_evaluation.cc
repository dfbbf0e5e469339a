// What torch's operations return: by the rules, or by asking torch itself.
#include <llvm/ADT/DenseSet.h>

#include <algorithm>
#include <unordered_map>

#include "core/checked.h"
#include "core/graph_break.h"
#include "core/pending_python_exception.h"
#include "core/set_exception.h"
#include "guards/array_library.h"
#include "libraries/torch/allowed_functions.h"
#include "libraries/torch/callable_names.h"
#include "libraries/torch/changed_arguments.h"
#include "libraries/torch/function_transforms.h"
#include "libraries/torch/gradients_of_views.h"
#include "libraries/torch/kernel_support.h"
#include "libraries/torch/memory_relations.h"
#include "libraries/torch/meta_evaluation.h"
#include "libraries/torch/metadata_rules.h"
#include "libraries/torch/mixtures.h"
#include "libraries/torch/mode_scope.h"
#include "libraries/torch/operation_nodes.h"
#include "libraries/torch/operator_names.h"
#include "libraries/torch/operator_schema.h"
#include "libraries/torch/remembered_results.h"
#include "libraries/torch/settings.h"
#include "libraries/torch/stand_ins.h"
#include "libraries/torch/torch_library.h"
#include "libraries/torch/torch_module.h"
#include "shapes/memory_overlap.h"

namespace armature {

namespace {

using Structures = std::unordered_map<const Node*, ResultStructure>;

ResultStructure array(const Node& node) {
  ResultStructure result;
  result.metadata = node.metadata;
  return result;
}

// The metadata of an input, with everything that a computation on it depends on observed.
void observePlaceholder(Node& placeholder, Observer& observer) {
  if (!placeholder.metadata) {
    auto metadata = std::make_shared<TensorMetadata>();
    std::string why = "torch is not registered with the guards";
    const ArrayLibrary* library = arrayLibrary(ArrayLibraryKind::Torch);
    if (!library || !library->read(placeholder.example, *metadata, &why)) {
      throw std::logic_error("an input that cannot be described: " + why);
    }
    placeholder.metadata = std::move(metadata);
  }
  observer.observe(&placeholder, ObservedEverything);
}

// How a library says that the operation raises.
ResultStructure failed() {
  ResultStructure result;
  result.kind = ResultStructure::Kind::Constant;
  return result;
}

// The nodes without known result on which `node` depends, and itself, in program order. A loop
// instead of recursion: chains of operations are long.
std::vector<Node*> unknownNodes(Node* node) {
  std::vector<Node*> result = {node};
  llvm::DenseSet<Node*> seen = {node};
  for (size_t i = 0; i < result.size(); ++i) {
    // What is inside of a level is evaluated together.
    if (isOfTransform(*result[i])) continue;
    forEachInput(*result[i], [&](Node* input) {
      bool isKnown = input->metadata && input->operation != NodeOperation::Placeholder;
      if (!isKnown && seen.insert(input).second) result.push_back(input);
    });
  }
  std::ranges::sort(result, {}, &Node::index);
  return result;
}

bool callsTrue(BorrowedRef<> function) {
  Ref<> result = Ref<>::steal(PyObject_CallNoArgs(function.get()));
  clearException();
  return result && result.get() == Py_True;
}

// The rules know nothing of autocast and of inference mode, where the trace is made and by the mode
// of the operation.
bool rulesApply() {
  static PyObject* const autocast = torchBinding("_is_any_autocast_enabled");
  static PyObject* const inference = torchBinding("is_inference_mode_enabled");
  return !callsTrue(autocast) && !callsTrue(inference);
}
bool rulesApplyTo(const Node& node) {
  return !hasAutocast(node.mode) && !hasSetting(node.mode) && !hasInferenceMode(node.mode);
}

// Nor do the rules know of tensors that were made in inference mode.
bool anyIsInference(const Node& node, InputStructures inputs) {
  bool any = false;
  forEachInput(node, [&](Node* each) {
    const TensorMetadata* metadata = inputs(*each).metadata.get();
    any |= metadata && metadata->isInference;
  });
  return any;
}

// Of the inputs that the operation changes, or of which it changes views: those of their first
// arguments, and so on.
void observeLeaves(const Node& node, Observer& observer) {
  llvm::SmallVector<Node*, 4> pending = changedArrays(node);
  llvm::DenseSet<const Node*> seen;
  while (!pending.empty()) {
    Node* array = pending.pop_back_val();
    if (!seen.insert(array).second) continue;
    if (array->operation == NodeOperation::Placeholder) {
      observer.observe(array, ObservedIsLeaf);
    } else {
      pending.append(changedArrays(*array));
    }
  }
}

bool hasArray(const ResultStructure& structure) {
  return structure.metadata || std::ranges::any_of(structure.elements, hasArray);
}

// What stood for the program's tensors has their metadata, and nothing else of theirs: only what
// follows from it may be taken for the program's.
void refuseForeignAnswer(const Node& node, const ResultStructure& result) {
  if (hasArray(result) || isAnsweredByMetadata(nameOf(node))) return;
  // That it gives the same is the program's promise.
  if (isAllowedInGraph(node.target)) return;
  bool isNone = result.kind == ResultStructure::Kind::Constant && result.constant.get() == Py_None;
  bool onlyRaises = nameOf(node) == "_assert_async";
  if (isNone &&
      (onlyRaises || changesArgument(node) || setsGradMode(nameOf(node)) || changesSetting(node))) {
    return;
  }
  throw GraphBreak(GraphBreakKind::UnsupportedResult, targetName(node.target),
                   "The operation returns no tensor, and what it returns may depend on more than "
                   "shapes and dtypes.");
}

// Autograd refuses to change some views.
bool changesViewUnderGrad(const Node& node, InputStructures inputs) {
  return hasGradients(node.mode) && changesArgument(node) &&
         llvm::any_of(changedArrays(node), [&](Node* changed) {
           const TensorMetadata* metadata = inputs(*changed).metadata.get();
           return metadata && metadata->requiresGrad && metadata->mayBeView;
         });
}

// Kernels refuse to write several elements to one place (at::assert_no_internal_overlap); what
// stands for the array has no places.
bool changesExpanded(const Node& node, InputStructures inputs) {
  return changesArgument(node) && llvm::any_of(changedArrays(node), [&](Node* changed) {
           const TensorMetadata* metadata = inputs(*changed).metadata.get();
           return metadata && mayOverlapItself(*metadata);
         });
}

// The exception that is set says what is wrong with the stand-ins, unless real arrays may have more
// wrong with them; and an array that is changed may be changed before torch raises. What torch
// looks at first is what the arguments are. Random numbers may have been drawn by then.
void requireSameError(const Node& node, InputStructures inputs) {
  if (PyErr_ExceptionMatches(PyExc_TypeError)) return;
  bool mayDiffer;
  {
    SetException kept;
    mayDiffer =
        changesArgument(node) || drawsRandomNumbers(nameOf(node)) || mayMeetInMemory(node, inputs);
    clearException();
  }
  if (!mayDiffer) return;
  clearException();
  throw GraphBreak(GraphBreakKind::DataDependentOperator, targetName(node.target));
}

// Of several arrays that the operation changes, it returns the very objects.
void markReturned(const Node& node, ResultStructure& result) {
  if (result.elements.empty() || !changesArgument(node)) return;
  auto changed = changedArrays(node);
  for (ResultStructure& element : result.elements) {
    auto found = llvm::find(changed, element.returned);
    if (found != changed.end()) element.same = *found;
  }
}

// What torch says of the operation.
ResultStructure askTorch(const TorchModule& torch, const Node& node, InputStructures input,
                         RememberedResults& remembered) {
  std::string key = RememberedResults::keyOf(node, input);
  const ResultStructure* known = key.empty() ? nullptr : remembered.find(key);
  if (known) return *known;
  ResultStructure result = evaluateOnMeta(torch, node, input);
  if (isFailure(result)) return result;
  result.mayFailOnData = !neverRaisesOnData(node);
  refuseForeignAnswer(node, result);
  if (!key.empty()) remembered.add(key, node, result);
  return result;
}

ResultStructure evaluateNode(const TorchModule& torch, bool useRules, Node& node,
                             Structures& structures, RememberedResults& remembered) {
  auto input = [&](const Node& other) -> const ResultStructure& {
    auto [entry, isNew] = structures.try_emplace(&other);
    if (isNew) entry->second = array(other);
    return entry->second;
  };
  requireNoBase(node, input);
  ResultStructure result;
  if (!useRules || anyIsInference(node, input) || !applyMetadataRule(node, input, result)) {
    result = askTorch(torch, node, input, remembered);
    if (isFailure(result)) {  // with an exception set, which stays
      requireSameError(node, input);
      return result;
    }
  }
  node.mayMeetInMemory = mayMeetInMemory(node, input);
  if (changesViewUnderGrad(node, input) || changesExpanded(node, input) ||
      mayRaiseForNumber(node)) {
    result.mayFailOnData = true;
  }
  node.metadata = result.metadata;
  node.checked = !result.mayFailOnData;
  markReturned(node, result);
  return result;
}

// An error may be about the place of a tensor in its memory, which nothing else depends on.
void observeOffsets(Node& node, Observer& observer) {
  std::vector<Node*> pending = {&node};
  llvm::DenseSet<Node*> seen = {&node};
  while (!pending.empty()) {
    Node* each = pending.back();
    pending.pop_back();
    if (each->operation == NodeOperation::Placeholder) {
      observer.observe(each, ObservedStorageOffset);
    }
    forEachInput(*each, [&](Node* input) {
      if (seen.insert(input).second) pending.push_back(input);
    });
  }
}

// What is known of the node, evaluated where `structures` have it not. Throws
// PendingPythonException where it raises.
const ResultStructure& evaluated(const TorchLibrary& library, const Node& node,
                                 Structures& structures, Observer& observer) {
  auto [entry, isNew] = structures.try_emplace(&node);
  if (isNew) entry->second = library.evaluate(const_cast<Node*>(&node), observer);
  if (isFailure(entry->second)) throw PendingPythonException();
  return entry->second;
}

}  // namespace

ResultStructure TorchLibrary::evaluateInTransform(Node& node, Observer& observer) const {
  if (node.alteredBy) {
    // What it is now is what the later call has made of it.
    ResultStructure result = evaluate(node.alteredBy, observer);
    if (!isFailure(result)) node.metadata = result.metadata;
    return result;
  }
  std::vector<const Node*> before = transformNodesBefore(node);
  Structures structures;
  auto input = [&](const Node& other) -> const ResultStructure& {
    return evaluated(*this, other, structures, observer);
  };
  ResultStructure result = evaluateOnMeta(torch_, node, input, before);
  if (isFailure(result)) return result;
  result.mayFailOnData =
      (!neverRaisesOnData(node) && !isTransformOperation(node)) || mayRaiseForNumber(node);
  node.metadata = result.metadata;
  node.checked = !result.mayFailOnData;
  return result;
}

ResultStructure TorchLibrary::evaluate(Node* node, Observer& observer) const {
  bool isPlaceholder = node->operation == NodeOperation::Placeholder;
  if (node->metadata && !isPlaceholder) return array(*node);
  if (node->isCall() && isAnsweredByLayout(nameOf(*node))) learnLayouts(*node, observer);
  Structures structures;
  bool useRules = rulesApply();
  for (Node* unknown : unknownNodes(node)) {
    if (unknown->operation == NodeOperation::Placeholder) {
      observePlaceholder(*unknown, observer);
      continue;
    }
    if (isOfOuterTransform(*unknown)) {
      throw GraphBreak(GraphBreakKind::UnsupportedLibraryFunction, targetName(unknown->target),
                       "its level was entered before");
    }
    bool rules = useRules && rulesApplyTo(*unknown);
    ResultStructure result = isOfTransform(*unknown)
                                 ? evaluateInTransform(*unknown, observer)
                                 : evaluateNode(torch_, rules, *unknown, structures,
                                                RememberedResults::of(observer, *this));
    if (isFailure(result)) {
      // The exception that is set is what whoever asked looks at next.
      SetException kept;
      observeOffsets(*unknown, observer);
      if (changesArgument(*unknown)) observeLeaves(*unknown, observer);
      clearException();
      return result;
    }
    // Whether autograd allows a change in place depends on what is a leaf.
    if (changesArgument(*unknown)) observeLeaves(*unknown, observer);
    if (unknown == node) return result;
    structures[unknown] = std::move(result);
  }
  return array(*node);
}

const Node* TorchLibrary::identityOf(const Node* node, Observer& observer) const {
  auto unknown = [&](const Node& other) {
    return GraphBreak(GraphBreakKind::IdentityOfResults, targetName(other.target));
  };
  Structures structures;
  auto input = [&](const Node& other) -> const ResultStructure& {
    auto [entry, isNew] = structures.try_emplace(&other);
    if (isNew) entry->second = evaluate(const_cast<Node*>(&other), observer);
    if (!isFailure(entry->second)) return entry->second;
    clearException();
    throw unknown(other);
  };
  while (node->isCall() && !node->mixesLibraries) {
    const Node* maker = node;
    const Argument* position = nullptr;
    // One of several results.
    if (nameOf(*node) == "getitem" && node->arguments.size() == 2 &&
        node->arguments[0].kind() == Argument::Kind::Node && node->arguments[0].node()->isCall() &&
        input(*node->arguments[0].node()).kind != ResultStructure::Kind::Array) {
      maker = node->arguments[0].node();
      position = &node->arguments[1];
    }
    bool isInside = isOfTransform(*maker);
    if (callsBodies(*maker) || (isInside && (maker->alteredBy || !leavesLevels(*maker)))) {
      throw unknown(*maker);
    }
    std::vector<const Node*> before;
    if (isInside) {
      before = transformNodesBefore(*maker);
      // What a node stands for behind such a change, goes by the name of another.
      if (llvm::any_of(before, [](const Node* each) { return each->alteredBy; })) {
        throw unknown(*maker);
      }
    } else {
      if (mayReturnArgument(nameOf(*maker))) learnLayouts(*maker, observer);
      forEachInput(*maker, [&](Node* each) { input(*each); });
    }
    ResultStructure result = evaluateOnMeta(torch_, *maker, input, before);
    if (isFailure(result)) {
      clearException();
      throw unknown(*maker);
    }
    const ResultStructure* own = &result;
    if (position) {
      size_t index = position->object() ? PyLong_AsSize_t(position->object().get()) : SIZE_MAX;
      clearException();
      if (index >= result.elements.size()) throw unknown(*maker);
      own = &result.elements[index];
    }
    if (!own->returned) break;
    node = own->returned;
  }
  return node;
}

bool TorchLibrary::takesForeign(const Node& node) const {
  bool isOperator = node.operation == NodeOperation::CallFunction &&
                    callableNames().of(node.target).module == "operator";
  return torchTakesForeign(node, nameOf(node), isOperator);
}

ResultStructure TorchLibrary::evaluateMixture(Node* node, const Library& called,
                                              Observer& observer) const {
  bool isKnown = true;
  forEachInput(*node, [&](Node* input) {
    const Library* library = findLibrary(input->metadata ? input->metadata->library : kind());
    isKnown = isKnown && library->layout(input, observer);
  });
  if (!isKnown) return failed();
  if (isOfTransform(*node) || !called.takesForeign(*node)) {
    throw GraphBreak(GraphBreakKind::MixedLibraries, targetName(node->target));
  }
  KnownArrays inputs;
  ResultStructure result = evaluateOnReal(torch_, *node, inputs);
  if (isFailure(result)) {
    // What raises may be the values, which are not the program's.
    if (PyErr_ExceptionMatches(PyExc_TypeError)) return result;
    clearException();
    throw GraphBreak(GraphBreakKind::DataDependentOperator, targetName(node->target));
  }
  bool isNone = result.kind == ResultStructure::Kind::Constant && result.constant.get() == Py_None;
  if (result.kind != ResultStructure::Kind::Array && !isNone) {
    throw GraphBreak(GraphBreakKind::UnsupportedResult, targetName(node->target),
                     "An operation on arrays of several libraries returns something else.");
  }
  // Of an argument in the same memory, only the library knows that it is.
  result.same = const_cast<Node*>(result.returned);
  result.mayFailOnData = true;
  node->metadata = result.metadata;
  node->checked = false;
  return result;
}

namespace {

// Whose strides nothing but their metadata says: the program's own function, which promises that
// its fake kernel tells the truth, is not called for it, and what is known only inside of others
// does not stand alone.
bool isTakenAtItsWord(const Node& node) {
  bool isPrograms = isAllowedInGraph(node.target) ||
                    (operatorSchema(node.target) &&
                     !callableNames().of(node.target).module.starts_with("torch.ops.aten"));
  // The result of a body, and one of several of them, is what the body was traced to give.
  bool isOneOf = nameOf(node) == "getitem" && node.arguments[0].kind() == Argument::Kind::Node;
  const Node& maker = isOneOf ? *node.arguments[0].node() : node;
  return isPrograms || node.mixesLibraries || node.alteredBy || isOfTransform(node) ||
         callsBodies(maker);
}

// The results without known strides on which the node depends, and itself, in program order.
// Those of several arrays are among them, of which a node keeps nothing.
std::vector<Node*> withoutLayout(Node* node) {
  std::vector<Node*> result;
  llvm::DenseSet<Node*> seen;
  auto visit = [&](Node* each) {
    bool isKnown = each->metadata && each->layoutKnown;
    if (!isKnown && each->isCall() && !isTakenAtItsWord(*each) && seen.insert(each).second)
      result.push_back(each);
  };
  visit(node);
  for (size_t i = 0; i < result.size(); ++i) forEachInput(*result[i], visit);
  std::ranges::sort(result, {}, &Node::index);
  return result;
}

// The metadata of a result, with the strides that the CPU gives it; null where they are not known.
std::shared_ptr<const TensorMetadata> withLayout(
    const TensorMetadata& metadata, const std::shared_ptr<const TensorMetadata>& real) {
  bool isSame = real && real->sizes == metadata.sizes && real->dtype == metadata.dtype;
  if (!isSame) return nullptr;
  auto result = std::make_shared<TensorMetadata>(metadata);
  result->strides = real->strides;
  return result;
}

}  // namespace

// What meta tensors say of strides is not always what the CPU does. The rules say it, of inputs
// whose strides are known; of other operations, zeros do.
const TensorMetadata* TorchLibrary::layout(Node* node, Observer& observer) const {
  if (!metadata(node, observer)) return nullptr;
  Structures structures;
  auto input = [&](const Node& other) -> const ResultStructure& {
    return evaluated(*this, other, structures, observer);
  };
  bool useRules = rulesApply();
  for (Node* unknown : withoutLayout(node)) {
    forEachInput(*unknown, [&](Node* each) { input(*each); });
    bool rules = useRules && rulesApplyTo(*unknown) && !anyIsInference(*unknown, input);
    bool isLarge = unknown->metadata && unknown->metadata->numel() > kMostRealElements;
    std::optional<ResultStructure> found(std::in_place);
    if (!rules || !applyMetadataRule(*unknown, input, *found)) {
      found = isLarge ? std::nullopt : evaluateOnZeros(torch_, *unknown, input);
    }
    std::shared_ptr<const TensorMetadata> array = found ? found->metadata : nullptr;
    if (unknown->metadata) array = withLayout(*unknown->metadata, array);
    if (!found || (unknown->metadata && !array)) {
      throw GraphBreak(GraphBreakKind::UnknownLayout, targetName(unknown->target));
    }
    found->metadata = unknown->metadata = std::move(array);
    unknown->layoutKnown = true;
    structures[unknown] = std::move(*found);
  }
  return node->metadata.get();
}

bool TorchLibrary::placeDependsOnData(const Node& node) const {
  return armature::placeDependsOnData(node);
}

void TorchLibrary::learnLayouts(const Node& node, Observer& observer) const {
  forEachInput(node, [&](Node* each) {
    bool isOwn = each->isCall() && each->library == kind();
    bool isArray = isOwn && evaluate(each, observer).kind == ResultStructure::Kind::Array;
    if (isArray) layout(each, observer);
    clearUnlessInterrupted();
  });
}

const TensorMetadata* TorchLibrary::metadata(Node* node, Observer& observer) const {
  ResultStructure result = evaluate(node, observer);
  if (isFailure(result)) return nullptr;
  if (result.kind != ResultStructure::Kind::Array) {
    PyErr_Format(PyExc_SystemError, "the result of %s is not one tensor",
                 targetName(node->target).c_str());
    return nullptr;
  }
  return node->metadata.get();
}

}  // namespace armature
