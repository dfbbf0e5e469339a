// Which operations no backend can have, but only torch itself.
#include <string_view>

#include "core/pending_python_exception.h"
#include "core/text.h"
#include "libraries/mentions_node.h"
#include "libraries/torch/changed_arguments.h"
#include "libraries/torch/changes_under_autograd.h"
#include "libraries/torch/memory_relations.h"
#include "libraries/torch/meta_evaluation.h"
#include "libraries/torch/operation_nodes.h"
#include "libraries/torch/script_functions.h"
#include "libraries/torch/torch_library.h"
#include "shapes/memory_overlap.h"

namespace armature {

namespace {

bool isOff(const Argument& argument) {
  return argument.object().get() == Py_False || argument.object().get() == Py_None;
}

// What backends return is no leaf, or none that requires gradients, and a plain tensor.
bool makesLeaf(const Node& node, std::string_view operation, BorrowedRef<> parameterType) {
  if (node.target.get() == parameterType.get() || operation == "requires_grad_") return true;
  return llvm::any_of(node.keywordArguments, [](const auto& keyword) {
    return stringView(keyword.first) == "requires_grad" && !isOff(keyword.second);
  });
}

// A scale that is data, unless it was put into an operation of its own (scaled_updates.h).
bool hasScaleOfData(const Node& node, std::string_view operation) {
  bool isArrays = operation.starts_with("masked_fill") || operation.starts_with("index_fill") ||
                  operation.starts_with("fill");
  return !isArrays && llvm::any_of(node.keywordArguments, [](const auto& keyword) {
    bool isScale = stringView(keyword.first) == "value" || stringView(keyword.first) == "alpha";
    return isScale && keyword.second.kind() == Argument::Kind::Node;
  });
}

// Where the scalars of an operation on lists are data, it reads them while it is run: backends,
// whose stand-ins have none, are refused.
bool hasScalarsOfData(const Node& node, std::string_view operation) {
  bool takesScalars =
      operation.starts_with("_foreach_addcdiv") || operation.starts_with("_foreach_addcmul");
  return takesScalars && node.arguments.size() > 3 && mentionsNode(node.arguments[3]);
}

bool hasBoundsOfData(const Node& node, std::string_view operation) {
  bool isOfItems = operation == "setitem" || operation == "getitem";
  if (!isOfItems || node.arguments.size() < 2) return false;
  auto isDatas = [](const Argument& index) {
    return index.kind() == Argument::Kind::Slice && mentionsNode(index);
  };
  const Argument& index = node.arguments[1];
  return isDatas(index) || llvm::any_of(index.elements(), isDatas);
}

// Where an index is an array without dimensions, its number is read to choose the place, or whether
// there is one. (That of `getitem` decides on the result's metadata: Library::evaluate.)
bool assignsAtData(const Node& node, std::string_view operation, MetadataOf metadata) {
  if (operation != "setitem" || node.arguments.size() < 2) return false;
  auto isNumber = [&](const Argument& index) {
    const TensorMetadata* known =
        index.kind() == Argument::Kind::Node ? metadata(index.node()) : nullptr;
    return known && known->dimension() == 0;
  };
  const Argument& index = node.arguments[1];
  return isNumber(index) || llvm::any_of(index.elements(), isNumber);
}

// The gradient of what is assigned has a size that only data tell.
bool assignsGradientsByMask(const Node& node, std::string_view operation, MetadataOf metadata) {
  if (operation != "setitem" && operation != "index_put" && operation != "index_put_") return false;
  bool isMasked = false, givesGradients = false;
  forEachInput(node, [&](Node* input) {
    const TensorMetadata* given = metadata(input);
    if (!given) return;
    isMasked |= isMask(*given);
    givesGradients |= given->requiresGrad && inputAt(node, 0) != input;
  });
  return isMasked && givesGradients;
}

const char* reasonAgainstRecurrent(const Node& node, std::string_view operation,
                                   MetadataOf metadata) {
  bool isRecurrent = operation == "lstm" || operation == "gru" || operation == "rnn_tanh" ||
                     operation == "rnn_relu";
  if (!isRecurrent) return nullptr;
  // Backends draw the numbers of the dropout between layers in other ways. It and `training` stand
  // one behind the other, wherever they stand.
  for (size_t i = 0; i + 1 < node.arguments.size(); ++i) {
    PyObject* dropout = node.arguments[i].object().get();
    bool drops = dropout && PyFloat_Check(dropout) && PyFloat_AS_DOUBLE(dropout) != 0;
    if (drops && !isOff(node.arguments[i + 1])) return "it drops numbers between its layers";
  }
  // For the backward pass it keeps None in the place of the input's gradient, which AOTAutograd
  // refuses. (TorchDynamo leaves all recurrent layers out.)
  if (Node* input = inputAt(node, 0); input && operation == "lstm") {
    const TensorMetadata* given = metadata(input);
    if (!given || !given->requiresGrad) return "its input requires no gradients";
  }
  return nullptr;
}

// Of the memory that is none of the array's, backends know nothing.
bool looksOutside(Node& node, std::string_view operation, MetadataOf metadata) {
  Node* array = operation == "as_strided" ? inputAt(node, 0) : nullptr;
  if (!array) return false;
  const TensorMetadata* whole = metadata(array);
  const TensorMetadata* part = metadata(&node);
  return !whole || !part || !isPart(*part, *whole);
}

// Does it change an array by way of a view that has its elements in another form, as conjugates, or
// one of them twice? Backends do not find the way back to the array.
bool changesByOddView(const Node& node, MetadataOf metadata) {
  return isOfAnyChanged(node, metadata, [](const Node& array, const TensorMetadata& known) {
    bool isOdd = known.isConjugate || known.isNegative || mayOverlapItself(known);
    return array.isCall() && known.mayBeView && isOdd;
  });
}

bool expandsTo(const TensorMetadata& array, const TensorMetadata& whole) {
  size_t more = whole.sizes.size() - array.sizes.size();
  if (array.sizes.size() > whole.sizes.size()) return false;
  for (size_t i = 0; i < array.sizes.size(); ++i) {
    if (array.sizes[i] != 1 && array.sizes[i] != whole.sizes[more + i]) return false;
  }
  return true;
}

// Meta tensors do not tell of every operation in place that its arguments do not fit what it
// changes; backends would have an error of their own.
bool doesNotFit(const TorchModule& torch, const Node& node, MetadataOf metadata) {
  if (!changesArgument(node)) return false;
  auto changed = changedArrays(node);
  const TensorMetadata* whole = changed.size() == 1 ? metadata(changed.front()) : nullptr;
  if (!whole) return false;
  bool allExpand = true;
  forEachInput(node, [&](Node* input) {
    const TensorMetadata* given = metadata(input);
    allExpand = allExpand && (!given || expandsTo(*given, *whole));
  });
  KnownArrays inputs;
  return !allExpand && runsOnZeros(torch, node, inputs) == false;
}

// Operations of whose results backends do not know that they share memory.
bool hidesSharedMemory(std::string_view operation) {
  return operation == "unsafe_split" || operation == "unsafe_chunk" ||
         operation == "unsafe_split_with_sizes";
}

}  // namespace

const char* TorchLibrary::reasonAgainstBackends(const Node& node, const Graph& graph,
                                                Observer& observer) const {
  const std::string_view operation = nameOf(node);
  auto metadataOf = [&](Node* each) {
    const TensorMetadata* known = metadata(each, observer);
    clearUnlessInterrupted();
    return known;
  };
  if (isScriptFunction(node.target)) return "it calls a script, which backends do not look into";
  if (makesLeaf(node, operation, reinterpret_cast<PyObject*>(torch_.parameterType.get()))) {
    return "it makes a leaf that requires gradients, which backends do not return";
  }
  if (const char* reason = reasonAgainstRecurrent(node, operation, metadataOf)) return reason;
  if (hasScaleOfData(node, operation)) return "a scale is data";
  if (hasScalarsOfData(node, operation)) return "its scalars are data";
  if (hasBoundsOfData(node, operation)) return "bounds of a slice are data";
  if (assignsAtData(node, operation, metadataOf)) return "a place that it assigns to is data";
  // With a message, it is known to have an effect.
  if (operation == "_assert_async" && node.arguments.size() + node.keywordArguments.size() < 2) {
    return "it returns nothing that a backend would need";
  }
  if (operation == "ctc_loss") return "the size of what it keeps to go back depends on data";
  if (assignsGradientsByMask(node, operation, metadataOf)) {
    return "it assigns what requires gradients by a mask";
  }
  if (readsWhatItWrites(node, metadataOf)) return "it writes to memory that it reads, or twice";
  if (mayChangeSaved(node, graph)) return "it may change what is kept for the backward pass";
  if (changesByOddView(node, metadataOf)) return "it changes an array by way of an odd view";
  if (doesNotFit(torch_, node, metadataOf)) return "its arguments do not fit what it changes";
  if (operation == "polygamma_") return "there is no operation that does it without a change";
  if (looksOutside(const_cast<Node&>(node), operation, metadataOf)) {
    return "its result may lie outside of the array";
  }
  if (hidesSharedMemory(operation)) return "its results share memory, which backends do not know";
  // Autograd refuses it for views, which backends say while they compile.
  if (Node* input = inputAt(node, 0); input && operation == "detach_") {
    const TensorMetadata* given = metadataOf(input);
    if (!given || given->mayBeView) return "it may detach a view";
  }
  return nullptr;
}

}  // namespace armature
