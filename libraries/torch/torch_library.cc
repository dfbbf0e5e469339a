#include "libraries/torch/torch_library.h"

#include <llvm/ADT/DenseSet.h>

#include <algorithm>
#include <stdexcept>
#include <unordered_map>

#include "core/checked.h"
#include "core/graph_break.h"
#include "guards/array_library.h"
#include "libraries/torch/autocast.h"
#include "libraries/torch/callable_names.h"
#include "libraries/torch/changed_arguments.h"
#include "libraries/torch/compiler_queries.h"
#include "libraries/torch/data_errors.h"
#include "libraries/torch/dtypes.h"
#include "libraries/torch/function_transforms.h"
#include "libraries/torch/global_state.h"
#include "libraries/torch/grad_modes.h"
#include "libraries/torch/imported_attribute.h"
#include "libraries/torch/kernel_support.h"
#include "libraries/torch/memory_relations.h"
#include "libraries/torch/meta_evaluation.h"
#include "libraries/torch/metadata_rules.h"
#include "libraries/torch/mixtures.h"
#include "libraries/torch/mode_scope.h"
#include "libraries/torch/operator_names.h"
#include "libraries/torch/overriding.h"
#include "libraries/torch/profiler_ranges.h"
#include "libraries/torch/tensor_constants.h"
#include "libraries/torch/torch_constants.h"
#include "variables/translator.h"

namespace armature {

namespace {

constexpr std::string_view kSetGradMode = "_set_grad_enabled";

bool changesAutocast(std::string_view name) {
  return name == "_enter_autocast" || name == "_exit_autocast";
}

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

bool isFailure(const ResultStructure& result) {
  return result.kind == ResultStructure::Kind::Constant && !result.constant;
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

// A function of torch._C, for static variables.
PyObject* binding(const char* name) {
  static PyObject* const bindings = checked(PyImport_ImportModule("torch._C")).release();
  return checked(PyObject_GetAttrString(bindings, name)).release();
}

bool callsTrue(BorrowedRef<> function) {
  Ref<> result = Ref<>::steal(PyObject_CallNoArgs(function.get()));
  PyErr_Clear();
  return result && result.get() == Py_True;
}

// The rules know nothing of autocast and of inference mode.
bool rulesApply() {
  static PyObject* const autocast = binding("_is_any_autocast_enabled");
  static PyObject* const inference = binding("is_inference_mode_enabled");
  return !callsTrue(autocast) && !callsTrue(inference);
}

// A function's name, or a method's, or that of the attribute which getattr reads.
std::string_view nameOf(const Node& node) {
  if (node.operation == NodeOperation::CallMethod) return stringView(node.target);
  std::string_view name = callableNames().of(node.target).name;
  if (name != "getattr" || node.arguments.size() < 2) return name;
  PyObject* attribute = node.arguments[1].object();
  return attribute && PyUnicode_Check(attribute) ? stringView(attribute) : name;
}

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

bool neverRaisesOnData(const Node& node) {
  std::string_view name = nameOf(node);
  bool isItem =
      name == "getitem" || name == "__getitem__" || name == "setitem" || name == "__setitem__";
  if (isItem && node.arguments.size() > 1) {
    return isBasicIndex(node.arguments[1]);
  }
  // With other elements than before, where the tensor begins in its memory matters.
  if (name == "view" && !isGivenSizes(node)) return false;
  return raisesOnNoData(name);
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

bool requiresGrad(const ResultStructure& structure) {
  return (structure.metadata && structure.metadata->requiresGrad) ||
         std::ranges::any_of(structure.elements, requiresGrad);
}

// What stood for the program's tensors has their metadata, and nothing else of theirs: only what
// follows from it may be taken for the program's.
void refuseForeignAnswer(const Node& node, const ResultStructure& result) {
  if (hasArray(result) || isAnsweredByMetadata(nameOf(node))) return;
  bool isNone = result.kind == ResultStructure::Kind::Constant && result.constant.get() == Py_None;
  if (isNone && (changesArgument(node) || nameOf(node) == kSetGradMode)) return;
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

// The exception that is set says what is wrong with the stand-ins, unless real arrays may have more
// wrong with them. What torch looks at first is what the arguments are.
void requireSameError(const Node& node, InputStructures inputs) {
  if (PyErr_ExceptionMatches(PyExc_TypeError)) return;
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  bool mayDiffer = mayMeetInMemory(node, inputs) || changesViewUnderGrad(node, inputs);
  PyErr_Clear();
  PyErr_Restore(type, value, traceback);
  if (!mayDiffer) return;
  PyErr_Clear();
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

ResultStructure evaluateNode(const TorchModule& torch, bool useRules, Node& node,
                             Structures& structures) {
  auto input = [&](const Node& other) -> const ResultStructure& {
    auto [entry, isNew] = structures.try_emplace(&other);
    if (isNew) entry->second = array(other);
    return entry->second;
  };
  // Nor do the rules know of tensors that were made in inference mode.
  forEachInput(node, [&](Node* each) {
    const TensorMetadata* metadata = input(*each).metadata.get();
    useRules &= !metadata || !metadata->isInference;
  });
  ResultStructure result;
  if (!useRules || !applyMetadataRule(node, input, result)) {
    result = evaluateOnMeta(torch, node, input);
    if (isFailure(result)) {  // with an exception set, which stays
      requireSameError(node, input);
      return result;
    }
    result.mayFailOnData = !neverRaisesOnData(node);
    refuseForeignAnswer(node, result);
  }
  node.mayMeetInMemory = mayMeetInMemory(node, input);
  if (changesViewUnderGrad(node, input)) result.mayFailOnData = true;
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

// An argument by its position or keyword; null if it is not given.
const Argument* findArgument(const Node& node, size_t position, const char* keyword) {
  for (const auto& [name, value] : node.keywordArguments) {
    if (PyUnicode_CompareWithASCIIString(name.get(), keyword) == 0) return &value;
  }
  return position < node.arguments.size() ? &node.arguments[position] : nullptr;
}

bool isConstant(const Argument& argument, PyObject* object) {
  return argument.kind() == Argument::Kind::Constant && argument.object().get() == object;
}

bool isZero(const Argument& argument) {
  if (argument.kind() != Argument::Kind::Constant) return false;
  PyObject* object = argument.object().get();
  return PyFloat_CheckExact(object) && PyFloat_AS_DOUBLE(object) == 0;
}

// Operations of which it depends on the arguments whether they draw random numbers, renormalize a
// weight, or update statistics.
bool argumentsForbidEffects(const Node& node, std::string_view name) {
  if (name == "dropout") {
    const Argument* training = findArgument(node, 2, "training");
    return training && isConstant(*training, Py_False);
  }
  if (name == "scaled_dot_product_attention") {
    const Argument* dropout = findArgument(node, 4, "dropout_p");
    return !dropout || isZero(*dropout);
  }
  if (name == "multi_head_attention_forward") {
    const Argument* training = findArgument(node, 13, "training");
    const Argument* dropout = findArgument(node, 10, "dropout_p");
    return (training && isConstant(*training, Py_False)) || (dropout && isZero(*dropout));
  }
  if (name == "batch_norm") {
    const Argument* training = findArgument(node, 5, "training");
    return training && isConstant(*training, Py_False);
  }
  if (name != "embedding") return false;
  // Of torch.embedding, the fourth argument says something harmless.
  const Argument* maxNorm = findArgument(node, 3, "max_norm");
  return !maxNorm || isConstant(*maxNorm, Py_None) || isConstant(*maxNorm, Py_False);
}

// Is the only generator that it draws from that of the CPU, and does it change no array?
bool drawsFromDefaultGenerator(const Node& node) {
  BorrowedRef<> hasDevices = importedAttribute("torch.cuda", "_initialized");
  if (hasDevices && hasDevices.get() != Py_False) return false;
  for (const auto& [keyword, argument] : node.keywordArguments) {
    if (stringView(keyword) == "generator" && argument.object().get() != Py_None) return false;
  }
  return !changesArgument(node);
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
    auto [entry, isNew] = structures.try_emplace(&other);
    if (isNew) entry->second = evaluate(const_cast<Node*>(&other), observer);
    if (isFailure(entry->second)) throw PendingPythonException();
    return entry->second;
  };
  ResultStructure result = evaluateOnMeta(torch_, node, input, before);
  if (isFailure(result)) return result;
  result.mayFailOnData = true;
  node.metadata = result.metadata;
  node.checked = false;
  return result;
}

ResultStructure TorchLibrary::evaluate(Node* node, Observer& observer) const {
  bool isPlaceholder = node->operation == NodeOperation::Placeholder;
  if (node->metadata && !isPlaceholder) return array(*node);
  Structures structures;
  bool useRules = rulesApply();
  for (Node* unknown : unknownNodes(node)) {
    if (unknown->operation == NodeOperation::Placeholder) {
      observePlaceholder(*unknown, observer);
      continue;
    }
    bool rules = useRules && !hasAutocast(unknown->mode);
    ResultStructure result = isOfTransform(*unknown)
                                 ? evaluateInTransform(*unknown, observer)
                                 : evaluateNode(torch_, rules, *unknown, structures);
    if (isFailure(result)) {
      // The exception that is set is what whoever asked looks at next.
      PyObject *type, *value, *traceback;
      PyErr_Fetch(&type, &value, &traceback);
      observeOffsets(*unknown, observer);
      if (changesArgument(*unknown)) observeLeaves(*unknown, observer);
      PyErr_Clear();
      PyErr_Restore(type, value, traceback);
      return result;
    }
    // Whether autograd allows a change in place depends on what is a leaf.
    if (changesArgument(*unknown)) observeLeaves(*unknown, observer);
    if (unknown == node) return result;
    structures[unknown] = std::move(result);
  }
  return array(*node);
}

namespace {

bool isBody(const Argument& argument) {
  return argument.kind() == Argument::Kind::Node &&
         argument.node()->operation == NodeOperation::GetAttribute;
}

bool callsBodies(const Node& node) { return llvm::any_of(node.arguments, isBody); }

}  // namespace

const Node* TorchLibrary::identityOf(const Node* node, Observer& observer) const {
  auto unknown = [&](const Node& other) {
    return GraphBreak(GraphBreakKind::IdentityOfResults, targetName(other.target));
  };
  auto isCall = [](const Node& other) {
    return other.operation == NodeOperation::CallFunction ||
           other.operation == NodeOperation::CallMethod;
  };
  Structures structures;
  auto input = [&](const Node& other) -> const ResultStructure& {
    auto [entry, isNew] = structures.try_emplace(&other);
    if (isNew) entry->second = evaluate(const_cast<Node*>(&other), observer);
    if (!isFailure(entry->second)) return entry->second;
    PyErr_Clear();
    throw unknown(other);
  };
  while (isCall(*node) && !node->mixesLibraries) {
    const Node* maker = node;
    const Argument* position = nullptr;
    // One of several results.
    if (nameOf(*node) == "getitem" && node->arguments.size() == 2 &&
        node->arguments[0].kind() == Argument::Kind::Node && isCall(*node->arguments[0].node()) &&
        input(*node->arguments[0].node()).kind != ResultStructure::Kind::Array) {
      maker = node->arguments[0].node();
      position = &node->arguments[1];
    }
    if (callsBodies(*maker) || isOfTransform(*maker)) throw unknown(*maker);
    forEachInput(*maker, [&](Node* each) { input(*each); });
    ResultStructure result = evaluateOnMeta(torch_, *maker, input);
    if (isFailure(result)) {
      PyErr_Clear();
      throw unknown(*maker);
    }
    const ResultStructure* own = &result;
    if (position) {
      size_t index = position->object() ? PyLong_AsSize_t(position->object().get()) : SIZE_MAX;
      PyErr_Clear();
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
  Structures structures;
  ResultStructure result =
      evaluateOnReal(torch_, *node, [&](const Node& other) -> const ResultStructure& {
        auto [entry, isNew] = structures.try_emplace(&other);
        if (isNew) entry->second = array(other);
        return entry->second;
      });
  if (isFailure(result)) return result;
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

Ref<> TorchLibrary::attribute(const TensorMetadata& metadata, std::string_view name) const {
  return tensorConstant(metadata, name);
}

bool TorchLibrary::mayFailOnData(const Node& node, Observer& observer) const {
  bool mayMeet = node.mayMeetInMemory && !areApartInMemory(node, observer);
  return mayMeet || mayFailWhenApart(node);
}

bool TorchLibrary::mayFailWhenApart(const Node& node) const {
  if (!node.checked || isOfTransform(node)) return true;
  Structures structures;
  bool isKnown = true;
  auto input = [&](const Node& other) -> const ResultStructure& {
    auto [entry, isNew] = structures.try_emplace(&other);
    if (isNew) entry->second = array(other);
    return entry->second;
  };
  forEachInput(node, [&](Node* each) { isKnown &= static_cast<bool>(each->metadata); });
  return isKnown && !runsSilently(torch_, node, input);
}

void TorchLibrary::changedArrays(const Node& node, llvm::SmallVectorImpl<Node*>& changed) const {
  llvm::append_range(changed, armature::changedArrays(node));
}

bool TorchLibrary::isPure(const Node& node) const {
  // TorchDynamo keeps what nobody uses, but for items. That an operation may raise is an effect.
  bool isItem = node.operation == NodeOperation::CallFunction &&
                targetName(node.target) == "operator.getitem";
  // Of what is done inside of levels, only items of several results are checked.
  bool isSafe = node.checked && (isOfTransform(node) || !mayFailWhenApart(node));
  return isItem && isSafe && effectOf(node) == NodeEffect::None;
}

NodeEffect TorchLibrary::effectOf(const Node& node) const {
  if (node.operation == NodeOperation::GetAttribute) {
    bool changes = llvm::any_of(node.body->nodes(), [&](const auto& inner) {
      bool isEnd = inner->operation == NodeOperation::Placeholder ||
                   inner->operation == NodeOperation::Output;
      // A body puts back the modes that it sets.
      NodeEffect effect = isEnd ? NodeEffect::None : effectOf(*inner);
      return effect != NodeEffect::None && effect != NodeEffect::Mode;
    });
    return changes ? NodeEffect::Other : NodeEffect::None;
  }
  if (node.operation != NodeOperation::CallFunction &&
      node.operation != NodeOperation::CallMethod) {
    return NodeEffect::Other;
  }
  const CallableName& callable = callableNames().of(node.target);
  std::string_view name = callable.name;
  // Methods, and Python's own getattr, are what they are called.
  if (node.operation == NodeOperation::CallMethod) name = stringView(node.target);
  // An overload of torch.ops: "torch.ops.aten.add_.Tensor".
  if (Py_TYPE(node.target.get()) == torch_.opOverload.get()) {
    bool none = !functions_.classify(node.target).mutates &&
                callable.qualified().find("rand") == std::string::npos;
    return none ? NodeEffect::None : NodeEffect::Other;
  }
  if (name == kSetGradMode || changesAutocast(name) || changesTransforms(node)) {
    return NodeEffect::Mode;
  }
  if (callsBodies(node)) {
    NodeEffect effect = NodeEffect::None;
    for (const Argument& argument : node.arguments) {
      if (isBody(argument)) effect = std::max(effect, effectOf(*argument.node()));
    }
    return effect;
  }
  if (!isInPlaceCall(node) && argumentsForbidEffects(node, name)) return NodeEffect::None;
  if (changesMoreThanArrays(name)) {
    bool isUndone = drawsRandomNumbers(name) && drawsFromDefaultGenerator(node) &&
                    randomState().get && randomState().set;
    return isUndone ? NodeEffect::Random : NodeEffect::Other;
  }
  if (!changesArgument(node)) return NodeEffect::None;
  auto changed = armature::changedArrays(node);
  bool isOwn =
      !changed.empty() && llvm::all_of(changed, [](Node* each) { return ownsMemory(*each); });
  return isOwn ? NodeEffect::Own : NodeEffect::Other;
}

Library::RandomState TorchLibrary::randomState() const {
  static const RandomState state = [] {
    BorrowedRef<> generator = importedAttribute("torch._C", "default_generator");
    RandomState functions;
    if (!generator) return functions;
    functions.get = PyObject_GetAttrString(generator.get(), "get_state");
    functions.set = PyObject_GetAttrString(generator.get(), "set_state");
    PyErr_Clear();
    return functions;
  }();
  return state;
}

const ArrayConventions& TorchLibrary::conventions() const {
  static constexpr ArrayConventions conventions = {.word = "tensor",
                                                   .lengthOfScalar = "len() of a 0-d tensor",
                                                   .leavesOthers = true,
                                                   .iterator = &PyTupleIter_Type};
  return conventions;
}

// To read the gradient of what is no leaf is a warning.
const HeldAttribute* TorchLibrary::heldAttribute(std::string_view name) const {
  static const HeldAttribute gradient{.readable = "is_leaf", .alike = {"dtype", "device", "shape"}};
  return name == "grad" ? &gradient : nullptr;
}

bool TorchLibrary::isOperationAttribute(std::string_view name) const {
  return name == "T" || name == "mT" || name == "H" || name == "mH" || name == "real" ||
         name == "imag" || name == "data";
}

namespace {

bool isKnownOfLeaves(std::string_view name) {
  return name == "grad_fn" || name == "retains_grad" || name == "output_nr";
}

}  // namespace

uint32_t TorchLibrary::observedBy(std::string_view name) const {
  if (name == "dtype" || name == "itemsize" || name == "is_floating_point" ||
      name == "is_complex" || name == "element_size") {
    return ObservedDType;
  }
  if (name == "device" || name == "is_cuda" || name == "is_cpu" || name == "get_device") {
    return ObservedDevice;
  }
  if (name == "ndim" || name == "dim" || name == "ndimension") return ObservedDimension;
  if (name == "shape" || name == "size" || name == "numel" || name == "__len__") {
    return ObservedDimension | ObservedSizes;
  }
  if (name == "requires_grad") return ObservedRequiresGrad;
  if (name == "is_leaf" || isKnownOfLeaves(name)) return ObservedRequiresGrad | ObservedIsLeaf;
  if (name == "storage_offset") return ObservedStorageOffset;
  return ObservedEverything;
}

bool TorchLibrary::mayHaveChanged(const Node& node, std::string_view attribute, const Graph& graph,
                                  Observer& observer) const {
  bool isOfGradients =
      attribute == "requires_grad" || attribute == "is_leaf" || isKnownOfLeaves(attribute);
  if (!isOfGradients) return false;
  for (const auto& other : graph.nodes()) {
    if (other.get() == &node || !hasGradients(other->mode) || !changesArgument(*other)) continue;
    auto changed = armature::changedArrays(*other);
    bool failed = false;
    auto hasGradients = [&](Node* input) {
      ResultStructure structure = evaluate(input, observer);
      failed |= isFailure(structure);
      return requiresGrad(structure);
    };
    bool givesGradients = false;
    forEachInput(*other, [&](Node* input) {
      givesGradients |=
          (changed.size() > 1 || !llvm::is_contained(changed, input)) && hasGradients(input);
    });
    bool hadGradients = llvm::all_of(changed, hasGradients);
    if (failed) PyErr_Clear();
    if (failed || (givesGradients && !hadGradients)) return true;
  }
  return false;
}

// What backends return is no leaf, or none that requires gradients, and a plain tensor.
const char* TorchLibrary::reasonAgainstBackends(const Node& node, Observer& observer) const {
  constexpr const char* kMakesLeaf =
      "it makes a leaf that requires gradients, which backends do not return";
  if (node.target.get() == reinterpret_cast<PyObject*>(torch_.parameterType.get()) ||
      nameOf(node) == "requires_grad_") {
    return kMakesLeaf;
  }
  // Autograd refuses it for views, which backends say while they compile.
  if (nameOf(node) == "detach_" && node.arguments[0].kind() == Argument::Kind::Node) {
    const TensorMetadata* given = metadata(node.arguments[0].node(), observer);
    PyErr_Clear();
    if (!given || given->mayBeView) return "it may detach a view";
  }
  for (const auto& [name, argument] : node.keywordArguments) {
    bool isOff = argument.object().get() == Py_False || argument.object().get() == Py_None;
    if (stringView(name) == "requires_grad" && !isOff) return kMakesLeaf;
  }
  return nullptr;
}

bool TorchLibrary::changesLayout(const Node& node) const { return changesLayoutOnly(nameOf(node)); }

CallRule TorchLibrary::dispatch(Translator& translator, const CallRule& rule,
                                llvm::ArrayRef<Value> arguments) const {
  for (const Value& argument : arguments) {
    if (const char* reason = reasonOfOverride(translator, torch_, argument)) {
      return {.kind = CallKind::Unsupported, .reason = reason};
    }
  }
  return rule;
}

const char* TorchLibrary::reasonAgainstOperations() const {
  if (programModesAreActive()) {
    return "a mode of the program (TorchFunctionMode, TorchDispatchMode) is active";
  }
  return hasSavedTensorHooks() ? "hooks of the program on saved tensors are active" : nullptr;
}

Library::ModeState TorchLibrary::modeState(const Node& node) const {
  if (changesTransforms(node)) return transformState();
  return changesAutocast(nameOf(node)) ? autocastState() : ModeState();
}

bool TorchLibrary::isStateOfMode(uint32_t mode, uint64_t states) const {
  return hasAutocast(mode) && (states & autocastSettings());
}

uint32_t TorchLibrary::currentMode() const {
  Ref<> enabled = checked(PyObject_CallMethod(torch_.torch.get(), "is_grad_enabled", nullptr));
  return enabled.get() != Py_False;
}

bool registerTorchLibrary() {
  if (findLibrary(ArrayLibraryKind::Torch)) return true;
  const TorchModule* torch = TorchModule::get();
  if (!torch) return false;
  // What every evaluation needs, made while no mode of a traced program looks on.
  deviceObject({});
  deviceObject({kMetaDevice, -1});
  PyErr_Clear();
  registerTorchConstants(*torch);
  registerLibrary(new TorchLibrary(*torch));
  registerGradModes();
  registerAutocast();
  registerProfilerRanges();
  registerCompilerQueries();
  return true;
}

}  // namespace armature
