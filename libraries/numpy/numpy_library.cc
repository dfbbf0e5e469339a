#include "libraries/numpy/numpy_library.h"

#include <llvm/ADT/DenseSet.h>

#include <algorithm>
#include <vector>

#include "core/checked.h"
#include "core/graph_break.h"
#include "core/pending_python_exception.h"
#include "cpython/imported_modules.h"
#include "cpython/type_lookup.h"
#include "guards/array_library.h"
#include "libraries/mentions_node.h"
#include "libraries/numpy/stand_ins.h"
#include "libraries/numpy/trial_run.h"
#include "libraries/verification.h"
#include "variables/constants/constant.h"

namespace armature {

namespace {

constexpr uint32_t kTypeAndRank = ObservedDType | ObservedDimension;

// Holds the sizes of everything that the node was computed from. A loop instead of recursion:
// chains of operations are long. What was observed once stays so and is not walked again.
void observeSizes(Node* node, Observer& observer) {
  std::vector<Node*> pending = {node};
  while (!pending.empty()) {
    Node* next = pending.back();
    pending.pop_back();
    if (next->sizesObserved) continue;
    next->sizesObserved = true;
    if (next->operation == NodeOperation::Placeholder) {
      observer.observe(next, kTypeAndRank | ObservedSizes);
    }
    forEachInput(*next, [&](Node* input) { pending.push_back(input); });
  }
}

PyObject* getitem() {
  static PyObject* const function = [] {
    Ref<> module = Ref<>::steal(cpython::importModule("_operator"));
    return module ? PyObject_GetAttrString(module.get(), "getitem") : nullptr;
  }();
  return function;
}

}  // namespace

PyTypeObject* NumPyLibrary::typeOf(const TensorMetadata& metadata) const {
  return metadata.isScalar ? numpy_.scalarTypes[metadata.dtype] : numpy_.arrayType.get();
}

const ArrayConventions& NumPyLibrary::conventions() const {
  static constexpr ArrayConventions conventions = {.takesSequences = true,
                                                   .hasInPlaceMatrixProduct = true};
  return conventions;
}

uint32_t NumPyLibrary::observedBy(std::string_view name) const {
  if (name == "dtype" || name == "itemsize") return ObservedDType;
  if (name == "ndim") return ObservedDimension;
  if (name == "shape" || name == "size" || name == "__len__") {
    return ObservedDimension | ObservedSizes;
  }
  if (name == "nbytes") return ObservedDType | ObservedDimension | ObservedSizes;
  return ObservedEverything;
}

bool NumPyLibrary::isImmutable(PyTypeObject* type) const {
  return numpy_.numberOfScalarType.count(type);
}

std::shared_ptr<const TensorMetadata> NumPyLibrary::scalarMetadata(PyTypeObject* type) const {
  auto found = numpy_.numberOfScalarType.find(type);
  if (found == numpy_.numberOfScalarType.end()) return nullptr;
  auto metadata = std::make_shared<TensorMetadata>();
  metadata->library = ArrayLibraryKind::NumPy;
  metadata->dtype = found->second;
  metadata->isScalar = true;
  return metadata;
}

ResultStructure NumPyLibrary::evaluate(Node* node, Observer& observer) const {
  const FunctionRule& rule = functions_.of(*node);
  if (state_.isHeard() && !isWithoutEffect(*node)) {
    throw GraphBreak(GraphBreakKind::UnsupportedNumPyCall,
                     targetName(node->target) +
                         " may call a function, print or log at floating-point errors "
                         "(numpy.seterr), in order with what the program does");
  }
  forEachInput(*node, [&](Node* input) {
    if (rule.sizes == NumPySizes::Decide) {
      observeSizes(input, observer);
    } else if (input->operation == NodeOperation::Placeholder) {
      observer.observe(input, kTypeAndRank);
    }
  });
  return tryOut(numpy_, *node, rule);
}

const TensorMetadata* NumPyLibrary::metadata(Node* node, Observer& observer) const {
  observeSizes(node, observer);
  return node->metadata.get();
}

bool NumPyLibrary::takesForeign(const Node& node) const {
  return dependsOnlyOnData(numpy_, node, functions_.of(node), functions_.isOperator(node));
}

namespace {

// The computed arrays without known strides that the node depends on, and itself, in program order.
std::vector<Node*> withoutLayout(Node* node, Observer& observer) {
  std::vector<Node*> result;
  llvm::DenseSet<Node*> seen;
  auto visit = [&](Node* each) {
    if (each->operation == NodeOperation::Placeholder) {
      observer.observe(each, ObservedEverything);
    } else if (!each->layoutKnown && seen.insert(each).second) {
      result.push_back(each);
    }
  };
  visit(node);
  for (size_t i = 0; i < result.size(); ++i) {
    forEachInput(*result[i], visit);
  }
  std::ranges::sort(result, {}, &Node::index);
  return result;
}

}  // namespace

const TensorMetadata* NumPyLibrary::layout(Node* node, Observer& observer) const {
  observeSizes(node, observer);
  for (Node* unknown : withoutLayout(node, observer)) {
    // (An operation with several results has none itself.)
    if (unknown->metadata && !unknown->metadata->isScalar) {
      unknown->metadata = trueLayout(*unknown);
    }
    unknown->layoutKnown = true;
  }
  return node->metadata.get();
}

std::shared_ptr<const TensorMetadata> NumPyLibrary::trueLayout(const Node& node) const {
  bool isItem = node.target.get() == getitem() &&
                node.arguments[0].kind() == Argument::Kind::Node &&
                !node.arguments[0].node()->metadata;
  const Node& maker = isItem ? *node.arguments[0].node() : node;
  Ref<> object = resultOnTrueLayout(numpy_, maker, functions_.of(maker));
  if (object && isItem) {
    object = Ref<>::steal(PyObject_GetItem(object.get(), node.arguments[1].object().get()));
  }
  std::shared_ptr<const TensorMetadata> metadata = object ? describe(object) : nullptr;
  bool isSame = metadata && metadata->sizes == node.metadata->sizes &&
                metadata->dtype == node.metadata->dtype;
  if (isSame) return metadata;
  if (interrupted()) throw PendingPythonException();
  clearException();
  throw GraphBreak(GraphBreakKind::UnsupportedNumPyResult,
                   targetName(maker.target) + " gives an array whose layout cannot be told");
}

Ref<> NumPyLibrary::standIn(const TensorMetadata& metadata) const {
  // Integers are not divided by zero.
  return metadata.isScalar ? scalar(numpy_, metadata, 1) : zeros(numpy_, metadata);
}

std::shared_ptr<const TensorMetadata> NumPyLibrary::describe(BorrowedRef<> object) const {
  PyTypeObject* type = Py_TYPE(object.get());
  if (type != arrayType()) return scalarMetadata(type);
  const ArrayLibrary* reader = arrayLibrary(ArrayLibraryKind::NumPy);
  auto metadata = std::make_shared<TensorMetadata>();
  return reader && reader->read(object, *metadata, nullptr) ? metadata : nullptr;
}

Ref<> NumPyLibrary::callSilently(BorrowedRef<> callable, BorrowedRef<> arguments,
                                 BorrowedRef<> keywords) const {
  return armature::callSilently(numpy_, callable, arguments, keywords);
}

Ref<> NumPyLibrary::attribute(const TensorMetadata& metadata, std::string_view name) const {
  PyObject* dtype = numpy_.dtypes[metadata.dtype].get();
  auto itemSize = [&] {
    Ref<> size = checked(PyObject_GetAttrString(dtype, "itemsize"));
    return PyLong_AsLongLong(size.get());
  };
  if (name == "dtype") return Ref<>::create(dtype);
  if (name == "ndim") return Ref<>::steal(PyLong_FromLongLong(metadata.dimension()));
  if (name == "size") return Ref<>::steal(PyLong_FromLongLong(metadata.numel().value()));
  if (name == "itemsize") return Ref<>::steal(PyLong_FromLongLong(itemSize()));
  if (name == "nbytes")
    return Ref<>::steal(PyLong_FromLongLong((itemSize() * metadata.numel()).value()));
  if (name != "shape") return nullptr;
  Ref<> shape = Ref<>::steal(PyTuple_New(metadata.dimension()));
  for (int64_t i = 0; shape && i < metadata.dimension(); ++i) {
    PyTuple_SET_ITEM(shape.get(), i, PyLong_FromLongLong(metadata.sizes[i].value()));
  }
  return shape;
}

void NumPyLibrary::changedArrays(const Node& node, llvm::SmallVectorImpl<Node*>& changed) const {
  const Argument* array = node.arguments.empty() ? nullptr : &node.arguments[0];
  for (const auto& [name, argument] : node.keywordArguments) {
    if (stringView(name) == "out") array = &argument;
  }
  if (array && array->kind() == Argument::Kind::Node) changed.push_back(array->node());
}

bool NumPyLibrary::isPure(const Node& node) const {
  if (!isWithoutEffect(node)) return false;
  // On other sizes an operation may raise, but not what only tells of dtypes and dimensions.
  if (functions_.of(node).effect == NumPyEffect::Tells) return true;
  bool areObserved = true;
  forEachInput(node, [&](Node* input) { areObserved = areObserved && input->sizesObserved; });
  return areObserved;
}

namespace {

bool hasOutArgument(const Node& node) {
  return llvm::any_of(node.keywordArguments, [](const auto& keyword) {
    return PyUnicode_CompareWithASCIIString(keyword.first.get(), "out") == 0;
  });
}

}  // namespace

bool NumPyLibrary::onlyWarns(const Node& node) const {
  bool isCall =
      node.operation == NodeOperation::CallFunction || node.operation == NodeOperation::CallMethod;
  return isCall && functions_.of(node).effect == NumPyEffect::Computes && !hasOutArgument(node);
}

bool NumPyLibrary::isWithoutEffect(const Node& node) const {
  if (node.operation != NodeOperation::CallFunction &&
      node.operation != NodeOperation::CallMethod) {
    return false;
  }
  const FunctionRule& rule = functions_.of(node);
  if (rule.effect == NumPyEffect::None || rule.effect == NumPyEffect::Tells) {
    return !hasOutArgument(node);
  }
  // An item at a constant place.
  return node.target.get() == getitem() && !mentionsNode(node.arguments[1]);
}

namespace {

// Two dtypes of one number type differ in byte order and metadata, of which == ignores the latter.
// NumPy keeps one object for each dtype that has neither.
bool sameDtype(PyObject* a, PyObject* b) {
  bool same = PyObject_RichCompareBool(a, b, Py_EQ) > 0;
  for (PyObject* dtype : {a, b}) {
    Ref<> metadata = Ref<>::steal(PyObject_GetAttrString(dtype, "metadata"));
    same = same && metadata.get() == Py_None;
  }
  clearException();
  return same;
}

}  // namespace

bool registerNumPyLibrary() {
  if (findLibrary(ArrayLibraryKind::NumPy)) return true;
  static bool refused = false;
  const NumPyModule* numpy = NumPyModule::get();
  if (!numpy) {
    bool isThere = arrayLibrary(ArrayLibraryKind::NumPy);
    if (isThere && !refused) warnOfRefusal("numpy", "it is not organized as NumPy 2 is");
    refused |= isThere;
    return false;
  }
  registerLibrary(new NumPyLibrary(*numpy));
  registerFunctionType(numpy->ufuncType.get());
  Ref<> dispatcher = numpy->attribute("_core._multiarray_umath._ArrayFunctionDispatcher");
  if (dispatcher && PyType_Check(dispatcher.get())) {
    registerFunctionType(reinterpret_cast<PyTypeObject*>(dispatcher.get()));
  }
  for (const Ref<>& dtype : numpy->dtypes) {
    if (dtype) registerConstantType(Py_TYPE(dtype.get()), {.same = sameDtype});
  }
  return true;
}

}  // namespace armature
