// Translator: operations of the graph, what they change, and whether they may fail.
#include "cpython/imported_modules.h"
#include "variables/translator.h"

#include "core/checked.h"
#include "core/describe.h"
#include "core/text.h"
#include "variables/constants/sym_node_variable.h"
#include "variables/containers/deque.h"
#include "variables/containers/dict.h"
#include "variables/data_errors.h"
#include "variables/objects/user_defined.h"
#include "variables/operation_modes.h"
#include "variables/protocol/object_protocol.h"
#include "variables/recorded_warnings.h"
#include "variables/recursion_guard.h"
#include "variables/tensors/array_assertion.h"
#include "variables/tensors/item_node.h"
#include "variables/tensors/small_numbers.h"
#include "variables/tensors/tensor.h"
#include "variables/tensors/tensor_attributes.h"
#include "variables/trailed.h"

namespace armature {

namespace {

// An argument of a graph operation, or a break if the value cannot be one.
class ArgumentBuilder {
 public:
  ArgumentBuilder(Translator& translator, const Library& library, BorrowedRef<> target)
      : translator_(translator), library_(library), target_(target) {}

  // What was built so far, without the containers.
  llvm::ArrayRef<Value> leaves() const { return leaves_; }
  // Breaks if one of them cannot be an argument.
  void checkSupported() const {
    if (unsupported_) unsupported(unsupported_);
  }
  // The first array of another library; null if there is none.
  const Value& foreign() const { return foreign_; }

  // `takesAnyNumber`: as CallRule says it of the argument.
  Argument build(const Value& value, bool takesAnyNumber) {
    takesAnyNumber_ = takesAnyNumber;
    return build(value);
  }

 private:
  Argument build(Value value) {
    if (const SymNode* number = takesAnyNumber_ ? graphNumber(translator_, value) : nullptr) {
      leaves_.push_back(Value::constant(number->hint));
      return Argument::number(number);
    }
    translator_.realize(value);
    value = plainNumber(translator_, library_, value);
    if (value.isConstant()) {
      leaves_.push_back(value);
      return Argument::constant(value.object());
    }
    RecursionGuard guard(translator_);
    // A list may hold one other in very many places.
    if (++containers_ > kMostContainers) unsupported(value);
    if (auto* tensor = trackerOf<TensorVariable>(value)) {
      if (tensor->libraryKind() != library_.kind() && !foreign_) foreign_ = value;
      leaves_.push_back(value);
      return Argument(tensor->node);
    }
    if (auto* sequence = trackerOf<SequenceVariable>(value)) {
      if (llvm::isa<NamedTupleVariable, DequeVariable>(sequence)) unsupported(value);
      std::vector<Argument> elements;
      for (const Value& item : sequence->items()) elements.push_back(build(item));
      return Argument::aggregate(
          llvm::isa<ListVariable>(sequence) ? Argument::Kind::List : Argument::Kind::Tuple,
          std::move(elements));
    }
    if (auto* slice = trackerOf<SliceVariable>(value)) {
      std::vector<Argument> elements;
      for (const Value* part : {&slice->start, &slice->stop, &slice->step}) {
        elements.push_back(build(*part));
      }
      return Argument::aggregate(Argument::Kind::Slice, std::move(elements));
    }
    auto* dict = trackerOf<DictVariable>(value);
    if (dict && dict->type() == &PyDict_Type) {
      std::vector<Argument> elements;
      Ref<> keys = checked(PyList_New(0));
      dict->forEach(translator_, [&](const OrderedValueMap::Entry& entry) {
        Ref<> key = keyData(translator_, entry.key);
        if (!key) unsupported(value);
        checked(PyList_Append(keys.get(), key.get()));
        elements.push_back(build(entry.value));
      });
      return Argument::aggregate(Argument::Kind::Dict, std::move(elements),
                                 checked(PyList_AsTuple(keys.get())));
    }
    leaves_.push_back(value);
    if (!unsupported_) unsupported_ = value;
    return Argument::constant(Py_None);
  }

  [[noreturn]] void unsupported(const Value& value) const {
    throw GraphBreak(GraphBreakKind::UnsupportedArgument,
                     targetName(target_) + "(" + describe(value) + ")");
  }
  static constexpr size_t kMostContainers = 1 << 20;
  Translator& translator_;
  const Library& library_;
  BorrowedRef<> target_;
  bool takesAnyNumber_ = false;
  size_t containers_ = 0;
  llvm::SmallVector<Value, 8> leaves_;
  Value unsupported_;  // the first one
  Value foreign_;
};

// All about the node's inputs is guarded.
void observeInputs(Translator& translator, const Library& library, const Node& node) {
  forEachInput(node, [&](Node* input) {
    if (input->operation == NodeOperation::Placeholder) {
      translator.observe(input, ObservedEverything);
    } else {
      library.metadata(input, translator);
    }
  });
}

// Turns the structure of what a node returned into variables.
class ResultBuilder {
 public:
  ResultBuilder(Translator& translator, const Library& library, llvm::ArrayRef<Value> arguments)
      : translator_(translator), library_(library), arguments_(arguments) {}

  Value build(Node* node, const ResultStructure& structure) {
    switch (structure.kind) {
      case ResultStructure::Kind::Array:
        if (structure.same) return variableOf(structure.same);
        node->metadata = structure.metadata;
        return arrayOf(node);
      case ResultStructure::Kind::Constant:
        if (!structure.constant) return raise(*node);
        return Value::constant(structure.constant);
      default:
        return buildElements(node, structure);
    }
  }

 private:
  // The operation raises on the inputs at hand, which on others it need not.
  Value raise(const Node& node) {
    Value raised = translator_.raiseFromPython();
    observeInputs(translator_, library_, node);
    return raised;
  }

  Value arrayOf(Node* node) {
    const Library& library =
        node->mixesLibraries ? *findLibrary(node->metadata->library) : library_;
    return translator_.make<TensorVariable>(library.typeOf(*node->metadata), node, &library);
  }

  Value buildElements(Node* node, const ResultStructure& structure) {
    ValueVector items;
    for (size_t i = 0; i < structure.elements.size(); ++i) {
      const ResultStructure& element = structure.elements[i];
      if (element.same) {
        items.push_back(variableOf(element.same));
        continue;
      }
      if (element.kind == ResultStructure::Kind::Constant) {
        items.push_back(Value::constant(element.constant));
        continue;
      }
      Node* item = addItemNode(translator_, library_, node, i);
      item->metadata = element.metadata;
      items.push_back(build(item, element));
    }
    if (structure.kind == ResultStructure::Kind::List) {
      return translator_.make<ListVariable>(std::move(items));
    }
    auto* type = reinterpret_cast<PyTypeObject*>(structure.type.get());
    if (type && type != &PyTuple_Type) {
      return translator_.make<NamedTupleVariable>(type, std::move(items));
    }
    return makeTuple(translator_, std::move(items));
  }

  // The argument that the node is the present value of.
  Value variableOf(Node* node) {
    for (const Value& argument : arguments_) {
      if (Value found = findIn(translator_.realized(argument), node)) return found;
    }
    throw std::logic_error(targetName(node->target) + " returns an array that no argument is");
  }

  Value findIn(const Value& value, Node* node) {
    auto* tensor = trackerOf<TensorVariable>(value);
    if (tensor && tensor->node == node) return value;
    if (auto* sequence = trackerOf<SequenceVariable>(value)) {
      RecursionGuard guard(translator_);
      for (const Value& item : sequence->items()) {
        if (Value found = findIn(translator_.realized(item), node)) return found;
      }
    }
    return Value();
  }

  Translator& translator_;
  const Library& library_;
  llvm::ArrayRef<Value> arguments_;
};

// Are both lists, or both tuples, of the very same objects?
bool haveSameItems(Translator& translator, const Value& a, const Value& b) {
  auto* first = trackerOf<SequenceVariable>(a);
  auto* second = trackerOf<SequenceVariable>(b);
  bool areAlike = first && second && first->type() == second->type() &&
                  first->items().size() == second->items().size();
  for (size_t i = 0; areAlike && i < first->items().size(); ++i) {
    areAlike =
        translator.realized(first->items()[i]).sameAs(translator.realized(second->items()[i]));
  }
  return areAlike;
}

// A name that may be written before the `=` of a call.
bool isKeywordName(PyObject* name) {
  if (!PyUnicode_IsIdentifier(name)) return false;
  static PyObject* const isKeyword = [] {
    Ref<> module = checked(cpython::importModule("keyword"));
    return checked(PyObject_GetAttrString(module.get(), "iskeyword")).release();
  }();
  return checked(PyObject_CallOneArg(isKeyword, name)).get() == Py_False;
}

}  // namespace

const char* Translator::reasonAgainstOperations(const Library& library) {
  auto [known, isFirst] = reasonsAgainstOperations_.try_emplace(&library);
  if (isFirst) known->second = library.reasonAgainstOperations();
  return known->second;
}

Value Translator::callGraphOperation(const Library& library, NodeOperation operation,
                                     BorrowedRef<> target, const CallRule& rule,
                                     llvm::ArrayRef<Value> arguments, PyObject* keywordNames) {
  if (std::optional<Value> taken =
          callOperationMode(*this, {library, operation, target, arguments, keywordNames})) {
    return *taken;
  }
  size_t keywordCount = keywordNames ? PyTuple_GET_SIZE(keywordNames) : 0;
  bool takesAnyNumber =
      rule.takesAnyNumberOf == arguments.size() && keywordCount == 0 && !isForeign_;
  std::optional<SmallNumbers> small = smallNumbers(*this, library, rule, arguments, keywordNames);
  if (!small) return Value();
  ArgumentBuilder builder(*this, library, target);
  size_t positionalCount = arguments.size() - keywordCount;
  std::vector<Argument> positional;
  positional.reserve(positionalCount);
  for (size_t i = 0; i < positionalCount; ++i) {
    positional.push_back(builder.build(arguments[i], takesAnyNumber || small->test(i)));
  }
  std::vector<std::pair<Ref<>, Argument>> keywords;
  const Value* out = nullptr;
  for (size_t i = 0; i < keywordCount; ++i) {
    PyObject* name = PyTuple_GET_ITEM(keywordNames, i);
    // Backends write graphs as text.
    if (!isKeywordName(name)) {
      throw GraphBreak(GraphBreakKind::KeywordNotIdentifier,
                       targetName(target) + "(" + printable(name) + "=…)");
    }
    const Value& value = arguments[positionalCount + i];
    if (PyUnicode_CompareWithASCIIString(name, "out") == 0 && !value.is(Py_None)) out = &value;
    keywords.emplace_back(Ref<>::create(name),
                          builder.build(value, small->test(positionalCount + i)));
  }
  if (const char* reason = reasonAgainstOperations(library)) {
    throw GraphBreak(GraphBreakKind::OverriddenOperation, targetName(target), reason);
  }
  checkWarningsOfOperation(*this, target);
  CallRule dispatched = library.dispatch(*this, rule, builder.leaves());
  if (dispatched.kind == CallKind::Unsupported) {
    throw GraphBreak(GraphBreakKind::OverriddenOperation, targetName(target), dispatched.reason);
  }
  builder.checkSupported();

  recordGraphGrowth();
  usedLibraries_ = true;
  if (graph->comesToFailureInBody()) noteFramesInBody();
  Node* node =
      graph->addCall(operation, target, std::move(positional), std::move(keywords), location());
  node->library = library.kind();
  node->mode = mode(library);
  if (failureIsHandled_ && isForeign_) checkChange(library, node);
  if (!isForeign_ && hasChanged()) holdValuesForFailure();
  if (const char* reason =
          isForeign_ ? library.reasonAgainstBackends(*node, *graph, *this) : nullptr) {
    throw GraphBreak(GraphBreakKind::UnsupportedLibraryFunction, targetName(target), reason);
  }
  bool failureIsPythons = errorsAreObserved() || isArrayAssertion(*node) ||
                          (failureIsLost() && !effects.empty() && firstChange());
  Value result;
  const Library* mixer = builder.foreign() || rule.leavesLibrary ? libraryOfMixtures() : nullptr;
  if (mixer) {
    result = callMixture(*mixer, library, node, arguments, builder.leaves());
    if (!result) return result;
    if (failureIsPythons) checkFailure(*mixer, node);
    // What is changed stays the array that it was.
    bool isChange = out || rule.mutates;
    auto* changed =
        isChange ? trackerOf<TensorVariable>(realized(out ? *out : arguments[0])) : nullptr;
    if (isChange && (!changed || trackerOf<TensorVariable>(result) != changed)) {
      throw GraphBreak(GraphBreakKind::MixedLibraries, targetName(target));
    }
    if (changed) recordTensorMutation(*this, changed);
    return result;
  }
  if (builder.foreign()) {
    throw GraphBreak(GraphBreakKind::MixedLibraries,
                     targetName(target) + "(" + describe(builder.foreign()) + ")");
  }
  bool isKnownType = rule.returnsOneArray && !library.eager() && !library.mayReturnItself(*node);
  // A backend that compiles has to know what every value is like, and fails for what only data
  // tell.
  if (isKnownType && !failureIsPythons && !isForeign_) {
    result = make<TensorVariable>(library.arrayType(), node, &library);
  } else {
    auto size = static_cast<size_t>(node->index);
    result = ResultBuilder(*this, library, arguments).build(node, library.evaluate(node, *this));
    if (!result) {
      dropFailedCall(size);
      return result;
    }
    if (failureIsPythons) checkFailure(library, node);
  }

  bool isChange = out || (rule.mutates && !arguments.empty());
  if (!isChange) return result;
  Value changed = recordMutations(library, *node, builder.leaves(), result);
  // That of the arrays of a list returns the list.
  return !out && haveSameItems(*this, realized(arguments[0]), changed) ? realized(arguments[0])
                                                                       : changed;
}

Value Translator::recordMutations(const Library& library, const Node& node,
                                  llvm::ArrayRef<Value> arguments, const Value& result) {
  llvm::SmallVector<Node*, 4> changed;
  library.changedArrays(node, changed);
  if (changed.empty()) {
    if (!library.returnsChanged(node)) return result;  // what it would change was left out
    throw GraphBreak(GraphBreakKind::UnknownMutation, targetName(node.target));
  }
  auto* resultTensor = trackerOf<TensorVariable>(result);
  for (const Value& argument : arguments) {
    auto* tensor = trackerOf<TensorVariable>(argument);
    if (!tensor || !llvm::is_contained(changed, tensor->node)) continue;
    if (library.changesLayout(node)) {
      prepareChangeOfLayout(*this, tensor);
      if (!layoutChanged_) assignTrailed(trail, layoutChanged_, true);
    }
    recordTensorMutation(*this, tensor);
    if (changed.size() > 1 || !resultTensor || !library.returnsChanged(node)) continue;
    // The node is the present value of the object that it has mutated, and that is what is
    // returned.
    assignTrailed(trail, tensor->node, resultTensor->node);
    return argument;
  }
  return result;
}

namespace {

// Undoes what was appended to the sources since there were `size`.
constexpr Trail::Operation kSourceGrowth = {
    [](void* sources, uintptr_t size) {
      static_cast<std::vector<const Source*>*>(sources)->resize(size);
    },
    nullptr};

}  // namespace

bool Translator::areApart(llvm::ArrayRef<Node*> placeholders) {
  // A rewind has taken some back.
  while (apartRanges_.size() > apart_.size()) apartRanges_.pop_back();
  for (Node* placeholder : placeholders) {
    if (llvm::is_contained(apart_, placeholder->source)) continue;
    MemoryRange range;
    const ArrayLibrary* reader = arrayLibrary(placeholder->library);
    if (!reader || !reader->findMemory(placeholder->example, range)) return false;
    bool meets = llvm::any_of(apartRanges_, [&](const MemoryRange& other) {
      return range.begin < other.end && other.begin < range.end;
    });
    if (meets) return false;
    trail.recordGrowth(kSourceGrowth, &apart_, apart_.size(), apartRecordedIn_);
    apart_.push_back(placeholder->source);
    apartRanges_.push_back(range);
  }
  return true;
}

namespace {

// What libraries ask of each other's arrays is what those libraries have defined.
void requireOwnConversions(Translator& translator, llvm::ArrayRef<Value> arguments) {
  static PyObject* const names[] = {PyUnicode_InternFromString("__array__"),
                                    PyUnicode_InternFromString("__array_wrap__"),
                                    PyUnicode_InternFromString("__array_priority__"),
                                    PyUnicode_InternFromString("__array_ufunc__"),
                                    PyUnicode_InternFromString("__array_function__"),
                                    PyUnicode_InternFromString("__array_struct__"),
                                    PyUnicode_InternFromString("__array_interface__")};
  for (const Value& argument : arguments) {
    auto* tensor = trackerOf<TensorVariable>(argument);
    if (!tensor) continue;
    for (PyObject* name : names) requireOwnMethod(translator, tensor, name);
  }
}

}  // namespace

void Translator::dropFailedCall(size_t size) {
  int32_t next = graph->nextOrdinal();
  graph->truncate(size);
  keepOrdinalsBelow(next);
}

void Translator::keepOrdinalsBelow(int32_t next) {
  int32_t& dropped = graph->dropped();
  assignTrailed(trail, dropped, dropped + next - graph->nextOrdinal());
}

Value Translator::callMixture(const Library& mixer, const Library& called, Node* node,
                              llvm::ArrayRef<Value> arguments, llvm::ArrayRef<Value> leaves) {
  node->mixesLibraries = true;
  node->library = mixer.kind();
  node->mode = mode(mixer);
  requireOwnConversions(*this, leaves);
  auto size = static_cast<size_t>(node->index);
  ResultStructure structure = mixer.evaluateMixture(node, called, *this);
  // Nothing that it was made of is asked for again.
  node->sizesObserved = true;
  node->layoutKnown = true;
  Value result = ResultBuilder(*this, mixer, arguments).build(node, structure);
  if (!result) dropFailedCall(size);
  return result;
}

bool Translator::hasChanged() {
  auto hasEffect = [](const Node& node) {
    NodeEffect effect = effectOf(node);
    return effect == NodeEffect::Other || effect == NodeEffect::Random;
  };
  return !graph->from(Graph::Question::HasEffect, hasEffect).empty();
}

const Node* Translator::firstChange() {
  // Trailed, as what is noted of random numbers is.
  size_t i = withoutChange_;
  for (; i < graph->size(); ++i) {
    NodeEffect effect = effectOf(*graph->nodes()[i]);
    if (effect == NodeEffect::Other) break;
    if (effect == NodeEffect::Random && !restoresRandomNumbers_) {
      assignTrailed(trail, restoresRandomNumbers_, true);
    }
  }
  if (i > withoutChange_) assignTrailed(trail, withoutChange_, i);
  return i < graph->size() ? graph->nodes()[i].get() : nullptr;
}

// In a handler, whether it runs must be known now; behind effects that a failure would lose, that
// they happen. What the operation does on the shapes at hand was heard when it was evaluated; so
// everything about the inputs is guarded. Where it may fail on data, the failing graph is forgotten
// and Python runs all of it again; or, if it has changed something by then that it has not made
// itself, and that cannot be put back, goes on with what the graph has computed.
void Translator::checkFailure(const Library& library, Node* node) {
  bool isHandled =
      isArrayAssertion(*node) || (errorsAreObserved() && dataErrorsAreObserved(*this, *node));
  bool isPythons = isHandled || (failureIsLost() && !effects.empty() && firstChange());
  NodeEffect effect = library.effectOf(*node);
  bool isChange = effect == NodeEffect::Other || effect == NodeEffect::Own;
  // Autograd may refuse to change an array, or a view of one, that has got a history.
  auto mayFail = [&] {
    return library.mayFailOnData(*node, *this) ||
           (isChange && library.mayHaveChanged(*node, "requires_grad", *graph, *this));
  };
  if (isPythons && mayFail()) {
    auto refuse = [&](const std::string& detail) {
      GraphBreakKind kind =
          isHandled ? GraphBreakKind::OperationInHandler : GraphBreakKind::OperationBehindEffects;
      throw GraphBreak(kind, targetName(node->target) + detail);
    };
    if (library.eager() || node->mixesLibraries) refuse("");  // NumPy's operations may warn, too.
    const Node* change = firstChange();
    // What it has changed before it failed, it would change again.
    if (change && (isChange || !failureGoesOn())) refuse(" after " + targetName(change->target));
    if (change) graph->keepValuesUntil(node->ordinal);
    if (isHandled) assignTrailed(trail, failureIsHandled_, true);
    // Numbers that the graph draws behind it, for a backend that runs it in an order of its own.
    if (isHandled && isForeign_) assignTrailed(trail, restoresRandomNumbers_, true);
  }
  // Else its evaluation observes all that the result depends on.
  if (library.eager()) observeInputs(*this, library, *node);
}

// The second trace has to hold for the inputs as the graph leaves them.
bool Translator::failureGoesOn() {
  if (isForeign_ || !failureCanGoOn()) return false;
  return llvm::all_of(graph->nodes(),
                      [&](const auto& node) {
                        if (node->operation == NodeOperation::Placeholder) return true;
                        const Library* library = findLibrary(node->library);
                        return library && !library->changesLayout(*node);
                      }) &&
         llvm::none_of(registeredLibraries(), [&](const Library* library) {
           return library->mayHaveChanged(*graph->nodes().back(), "requires_grad", *graph, *this);
         });
}

void Translator::checkChange(const Library& library, Node* node) {
  if (library.effectOf(*node) != NodeEffect::Other) return;
  throw GraphBreak(GraphBreakKind::ChangeBehindHandler, targetName(node->target));
}

void Translator::setErrorOnGraphBreak(bool isError) {
  assignTrailed(trail, errorOnGraphBreak_, isError);
  observeErrorOnGraphBreak();
}

void Translator::setOperationModes(Value modes) {
  assignTrailed(trail, operationModes_, std::move(modes));
}

Node* Translator::changeMode(const Library& library, BorrowedRef<> target,
                             std::vector<Argument> arguments, uint32_t mode) {
  recordGraphGrowth();
  Node* node =
      graph->addCall(NodeOperation::CallFunction, target, std::move(arguments), {}, location());
  node->library = library.kind();
  node->mode = this->mode(library);
  node->newMode = mode;
  assignTrailed(trail, modes_[static_cast<size_t>(library.kind())], mode);
  return node;
}

}  // namespace armature
