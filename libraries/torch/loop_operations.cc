#include "libraries/torch/loop_operations.h"

#include <optional>

#include "core/checked.h"
#include "core/text.h"
#include "cpython/imported_modules.h"
#include "libraries/torch/body_parameter.h"
#include "libraries/torch/dtypes.h"
#include "libraries/torch/function_transforms.h"
#include "libraries/torch/shared_inputs.h"
#include "libraries/torch/tree_names.h"
#include "variables/containers/dict.h"
#include "variables/containers/sequence.h"
#include "variables/protocol/object_protocol.h"
#include "variables/subgraph.h"
#include "variables/tensors/tensor.h"

namespace armature {

namespace {

const Library& torchLibrary() { return *findLibrary(ArrayLibraryKind::Torch); }

[[noreturn]] void refuse(const Value& callable, const char* reason) {
  throw GraphBreak(GraphBreakKind::UnsupportedLibraryFunction, describe(callable), reason);
}

// What a loop is called with: its functions, and its arrays in groups.
class LoopCall {
 public:
  // `names`: of the parameters, the functions first.
  LoopCall(Translator& translator, const Value& callable, CallArguments& arguments,
           llvm::ArrayRef<const char*> names, size_t functionCount)
      : translator_(translator), callable_(callable) {
    requireNoTransform(translator, callable);
    ValueVector given;
    for (size_t i = 0; i < names.size(); ++i) {
      const Value* value =
          i < arguments.positionalCount() ? &arguments.values[i] : arguments.keyword(names[i]);
      if (!value) refuse(callable, "an argument is missing");
      given.push_back(*value);
    }
    if (arguments.values.size() != names.size()) refuse(callable, "it is given other arguments");
    functions_.assign(given.begin(), given.begin() + static_cast<ptrdiff_t>(functionCount));
    for (size_t i = functionCount; i < given.size(); ++i) {
      ValueVector items;
      if (!iterateInto(translator, given[i], items)) throw PendingPythonException();
      for (Value& item : items) translator.realize(item);
      groups_.push_back(std::move(items));
    }
  }

  const Value& function(size_t i) const { return functions_[i]; }
  const ValueVector& group(size_t i) const { return groups_[i]; }
  Node* nodeOf(const Value& value) const {
    auto* tensor = trackerOf<TensorVariable>(value);
    if (!tensor) refuse(callable_, "not all of what it loops over are tensors");
    return tensor->node;
  }
  std::vector<Node*> nodes(size_t i) const {
    std::vector<Node*> result;
    for (const Value& value : groups_[i]) result.push_back(nodeOf(value));
    return result;
  }
  std::shared_ptr<const TensorMetadata> metadata(Node* node) const {
    if (!torchLibrary().metadata(node, translator_)) throw PendingPythonException();
    return node->metadata;
  }

 private:
  Translator& translator_;
  const Value& callable_;
  ValueVector functions_;
  llvm::SmallVector<ValueVector, 3> groups_;
};

// What one turn has of an array over which a loop goes.
std::shared_ptr<const TensorMetadata> sliceOf(const Value& callable, const TensorMetadata& whole) {
  if (whole.sizes.empty() || whole.sizes[0] == 0) refuse(callable, "an array has no slices");
  auto slice = std::make_shared<TensorMetadata>(whole);
  slice->sizes.erase(slice->sizes.begin());
  slice->isLeaf = !slice->requiresGrad;
  slice->isParameter = false;
  slice->dispatchKeys = 0;
  setContiguousStrides(*slice);
  return slice;
}

std::shared_ptr<const TensorMetadata> stackOf(const TensorMetadata& slice, Dimension count) {
  auto whole = std::make_shared<TensorMetadata>(slice);
  whole->sizes.insert(whole->sizes.begin(), count);
  whole->isLeaf = !whole->requiresGrad;
  setContiguousStrides(*whole);
  return whole;
}

std::shared_ptr<const TensorMetadata> turnOf(const TensorMetadata& carried) {
  auto turn = std::make_shared<TensorMetadata>(carried);
  turn->isLeaf = !turn->requiresGrad;
  turn->mayBeView = false;
  turn->isParameter = false;
  turn->dispatchKeys = 0;
  return turn;
}

bool isAlike(const TensorMetadata& one, const TensorMetadata& other) {
  return one.dtype == other.dtype && one.device == other.device && one.sizes == other.sizes &&
         one.strides == other.strides;
}

Node* addParameter(Translator& translator, CallArguments& arguments, Node* like,
                   std::shared_ptr<const TensorMetadata> metadata, BorrowedRef<> name) {
  Node* node = addBodyParameter(translator, like, std::move(metadata), name);
  arguments.values.push_back(
      translator.make<TensorVariable>(torchLibrary().arrayType(), node, &torchLibrary()));
  return node;
}

Argument group(Argument::Kind kind, llvm::ArrayRef<Node*> nodes) {
  return Argument::aggregate(kind, {nodes.begin(), nodes.end()});
}

PyObject* childName() {
  static PyObject* const name = staticName("child");
  return name;
}
PyObject* valueName() {
  static PyObject* const name = staticName("value");
  return name;
}
BorrowedRef<> objectOf(const Value& callable) {
  return callable.isTracker() ? callable.tracker()->existing() : callable.object();
}

// In TorchDynamo's graphs, what it gives the functions is numbered through.
class ChildNames {
 public:
  explicit ChildNames(const Graph& graph) {
    for (const auto& node : graph.nodes()) {
      next_ += node->operation != NodeOperation::Placeholder && node->variableName &&
               PyUnicode_Compare(node->variableName.get(), childName()) == 0;
    }
  }
  Ref<> next() {
    size_t number = next_++;
    if (number == 0) return Ref<>::create(childName());
    return checked(PyUnicode_FromFormat("child_%zu", number));
  }

 private:
  size_t next_ = 0;
};

// Visits the leaves of what a body has returned, in the order of Body::outputs().
void forEachLeaf(Translator& translator, const Value& value,
                 llvm::function_ref<void(const Value&)> visit) {
  if (auto* sequence = trackerOf<SequenceVariable>(value)) {
    for (const Value& item : sequence->items()) {
      forEachLeaf(translator, translator.realized(item), visit);
    }
  } else if (auto* dict = trackerOf<DictVariable>(value)) {
    dict->forEach(translator, [&](const OrderedValueMap::Entry& entry) {
      forEachLeaf(translator, translator.realized(entry.value), visit);
    });
  } else {
    visit(value);
  }
}

// That a body returns tensors, all its own, each once; so many, if that is known.
void requireArrays(Translator& translator, const Value& callable, const Body& body,
                   std::optional<size_t> wanted) {
  body.requireResult();
  size_t count = 0;
  forEachLeaf(translator, body.result(), [&](const Value& leaf) {
    if (!trackerOf<TensorVariable>(leaf)) refuse(callable, "its function returns other things");
    ++count;
  });
  bool areAllOwn = count == body.outputs().size() && !body.returnsOthers() && count > 0;
  if (!areAllOwn || (wanted && count != *wanted)) {
    refuse(callable, "its function does not return as many tensors as it should, all its own");
  }
}

// What the body returned becomes the operation's, with the metadata that it has outside.
Value takeResults(Translator& translator, Body& body, Node* node,
                  llvm::ArrayRef<std::shared_ptr<const TensorMetadata>> metadata) {
  body.takeItemsOf(node);
  auto* next = metadata.begin();
  forEachLeaf(translator, body.result(), [&](const Value& leaf) {
    requireKind<TensorVariable>(leaf)->node->metadata = *next++;
  });
  return body.result();
}

// map_impl(f, xs, pos_args)
Value callMap(Translator& translator, const Value& callable, CallArguments& arguments) {
  LoopCall loop(translator, callable, arguments, {"f", "xs", "pos_args"}, 1);
  std::vector<Node*> arrays = loop.nodes(0);
  if (arrays.empty()) refuse(callable, "there is nothing to map over");
  ChildNames names(*translator.graph);
  auto addSlices = [&](CallArguments& inner) {
    std::vector<Node*> parameters;
    for (Node* array : arrays) {
      auto slice = sliceOf(callable, *loop.metadata(array));
      parameters.push_back(addParameter(translator, inner, array, std::move(slice), names.next()));
    }
    inner.values.insert(inner.values.end(), loop.group(1).begin(), loop.group(1).end());
    return parameters;
  };
  CallArguments given;
  Translator::UnknownLayouts layouts(translator);
  Body body(translator, torchLibrary(), loop.function(0), given, addSlices);
  requireArrays(translator, callable, body, std::nullopt);
  Dimension count = arrays[0]->metadata->sizes[0];
  std::vector<std::shared_ptr<const TensorMetadata>> metadata;
  for (Node* output : body.outputs()) metadata.push_back(stackOf(*output->metadata, count));
  nameParts(translator, body.result(), childName(), childName());
  Graph::Subgraph graph = body.outline();
  static PyObject* const bodyName = staticName("map_body");
  Argument bodyArgument(translator.addBody(torchLibrary(), graph, bodyName));
  Node* node = translator.addOperation(torchLibrary(), objectOf(callable),
                                       {bodyArgument, group(Argument::Kind::List, arrays),
                                        group(Argument::Kind::List, graph.inputs)},
                                       {});
  Value result = takeResults(translator, body, node, metadata);
  nameParts(translator, result, nullptr, valueName());
  return result;
}

// scan_op(combine_fn, init, xs, additional_inputs)
Value callScan(Translator& translator, const Value& callable, CallArguments& arguments) {
  LoopCall loop(translator, callable, arguments, {"combine_fn", "init", "xs", "additional_inputs"},
                1);
  std::vector<Node*> carried = loop.nodes(0), arrays = loop.nodes(1);
  if (carried.empty() || arrays.empty()) refuse(callable, "there is nothing to scan over");
  ChildNames names(*translator.graph);
  auto addTurn = [&](CallArguments& inner) {
    std::vector<Node*> parameters;
    for (Node* each : carried) {
      parameters.push_back(
          addParameter(translator, inner, each, turnOf(*loop.metadata(each)), names.next()));
    }
    for (Node* each : arrays) {
      auto slice = sliceOf(callable, *loop.metadata(each));
      parameters.push_back(addParameter(translator, inner, each, std::move(slice), names.next()));
    }
    inner.values.insert(inner.values.end(), loop.group(2).begin(), loop.group(2).end());
    return parameters;
  };
  CallArguments given;
  Translator::UnknownLayouts layouts(translator);
  Body body(translator, torchLibrary(), loop.function(0), given, addTurn);
  requireArrays(translator, callable, body, std::nullopt);
  if (body.outputs().size() < carried.size()) refuse(callable, "its function returns too little");
  Dimension count = arrays[0]->metadata->sizes[0];
  std::vector<std::shared_ptr<const TensorMetadata>> metadata;
  for (size_t i = 0; i < body.outputs().size(); ++i) {
    const TensorMetadata& output = *body.outputs()[i]->metadata;
    if (i < carried.size() && !isAlike(output, *carried[i]->metadata)) {
      refuse(callable, "what its function carries changes");
    }
    metadata.push_back(i < carried.size() ? turnOf(output) : stackOf(output, count));
  }
  nameParts(translator, body.result(), childName(), childName());
  Graph::Subgraph graph = body.outline(Argument::Kind::List);
  static PyObject* const bodyName = staticName("scan_combine_fn");
  Argument bodyArgument(translator.addBody(torchLibrary(), graph, bodyName));
  Node* node = translator.addOperation(
      torchLibrary(), objectOf(callable),
      {bodyArgument, group(Argument::Kind::List, carried), group(Argument::Kind::List, arrays),
       group(Argument::Kind::List, graph.inputs)},
      {});
  return takeResults(translator, body, node, metadata);
}

// while_loop_op(cond_fn, body_fn, carried_inputs, additional_inputs)
Value callWhile(Translator& translator, const Value& callable, CallArguments& arguments) {
  LoopCall loop(translator, callable, arguments,
                {"cond_fn", "body_fn", "carried_inputs", "additional_inputs"}, 2);
  std::vector<Node*> carried = loop.nodes(0);
  if (carried.empty()) refuse(callable, "nothing is carried");
  // torch wants symbols for what a loop may have computed, of which a backend is given none.
  if (translator.usesForeignBackend()) refuse(callable, "backends want symbolic sizes for it");
  nameParts(translator, makeTuple(translator, ValueVector(loop.group(0))), childName(), nullptr);
  ChildNames names(*translator.graph);
  auto addTurn = [&](CallArguments& inner) {
    std::vector<Node*> parameters;
    for (Node* each : carried) {
      parameters.push_back(
          addParameter(translator, inner, each, turnOf(*loop.metadata(each)), names.next()));
    }
    inner.values.insert(inner.values.end(), loop.group(1).begin(), loop.group(1).end());
    return parameters;
  };
  CallArguments given, second;
  Translator::UnknownLayouts layouts(translator);
  Body condition(translator, torchLibrary(), loop.function(0), given, addTurn);
  condition.requireResult();
  auto* truth = trackerOf<TensorVariable>(translator.realized(condition.result()));
  bool isTruth = truth && !condition.returnsOthers() && truth->node->metadata->sizes.empty() &&
                 truth->node->metadata->dtype == Bool;
  if (!isTruth) refuse(callable, "its condition is not one truth value of its own");
  Body body(translator, torchLibrary(), loop.function(1), second, addTurn);
  requireArrays(translator, callable, body, carried.size());
  std::vector<std::shared_ptr<const TensorMetadata>> metadata;
  for (size_t i = 0; i < carried.size(); ++i) {
    const TensorMetadata& output = *body.outputs()[i]->metadata;
    if (!isAlike(output, *carried[i]->metadata)) {
      refuse(callable, "what its function carries changes");
    }
    metadata.push_back(turnOf(output));
  }
  nameParts(translator, body.result(), childName(), childName());
  // What comes last is moved first.
  Graph::Subgraph bodyGraph = body.outline();
  Graph::Subgraph conditionGraph = condition.outlineOne();
  shareInputs(conditionGraph, "cond_fn", bodyGraph, "body_fn");
  static PyObject* const conditionName = staticName("cond_fn");
  static PyObject* const bodyName = staticName("body_fn");
  Argument conditionArgument(translator.addBody(torchLibrary(), conditionGraph, conditionName));
  Argument bodyArgument(translator.addBody(torchLibrary(), bodyGraph, bodyName));
  Node* node = translator.addOperation(
      torchLibrary(), objectOf(callable),
      {conditionArgument, bodyArgument, group(Argument::Kind::Tuple, carried),
       group(Argument::Kind::Tuple, bodyGraph.inputs)},
      {});
  Value result = takeResults(translator, body, node, metadata);
  nameParts(translator, result, nullptr, valueName());
  return result;
}

}  // namespace

LibraryCallHandler findLoopHandler(BorrowedRef<> higherOrderOperator) {
  struct Loop {
    const char* module;
    const char* name;
    LibraryCallHandler handler;
  };
  for (const Loop& loop :
       {Loop{"torch._higher_order_ops.map", "map_impl", callMap},
        Loop{"torch._higher_order_ops.scan", "scan_op", callScan},
        Loop{"torch._higher_order_ops.while_loop", "while_loop_op", callWhile}}) {
    BorrowedRef<> known = cpython::importedAttribute(loop.module, loop.name);
    if (known && known.get() == higherOrderOperator.get()) return loop.handler;
  }
  return nullptr;
}

}  // namespace armature
