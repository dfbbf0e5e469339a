#include "libraries/torch/autograd_function.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/SmallVector.h>

#include "core/checked.h"
#include "cpython/member_descriptors.h"
#include "cpython/type_lookup.h"
#include "libraries/torch/autograd_call.h"
#include "libraries/torch/dtypes.h"
#include "libraries/torch/imported_attribute.h"
#include "libraries/torch/regions.h"
#include "variables/containers/dict.h"
#include "variables/containers/sequence.h"
#include "variables/functions/functions.h"
#include "variables/functions/library_calls.h"
#include "variables/objects/user_defined.h"
#include "variables/protocol/object_protocol.h"
#include "variables/tensors/item_node.h"
#include "variables/tensors/tensor.h"
#include "variables/tensors/tensor_attributes.h"

namespace armature {

namespace {

[[noreturn]] void refuse(const char* reason) {
  throw GraphBreak(GraphBreakKind::UnsupportedLibraryFunction, "torch.autograd.Function.apply",
                   reason);
}

PyTypeObject* classNamed(const char* name) {
  BorrowedRef<> found = importedAttribute("torch.autograd.function", name);
  if (!found || !PyType_Check(found.get())) refuse("torch has no such class");
  return reinterpret_cast<PyTypeObject*>(found.get());
}

const Library& torchLibrary() { return *findLibrary(ArrayLibraryKind::Torch); }

// forward() runs without gradients. Where that makes no difference to its operations, the graph
// does not set the mode.
class WithoutGradients {
 public:
  explicit WithoutGradients(Translator& translator)
      : translator_(translator), before_(translator.mode(torchLibrary())) {
    translator_.startInMode(torchLibrary(), withGradients(before_, false));
  }
  ~WithoutGradients() { translator_.startInMode(torchLibrary(), before_); }
  WithoutGradients(const WithoutGradients&) = delete;
  WithoutGradients& operator=(const WithoutGradients&) = delete;

  bool wasOff() const { return !hasGradients(before_); }

 private:
  Translator& translator_;
  uint32_t before_;
};

bool requiresGrad(Translator& translator, Node* node) {
  const TensorMetadata* metadata = torchLibrary().metadata(node, translator);
  if (!metadata) throw PendingPythonException();
  if (node->operation == NodeOperation::Placeholder) translator.observe(node, ObservedRequiresGrad);
  return metadata->requiresGrad;
}

void forEachNode(const Argument& argument, llvm::function_ref<void(Node*)> visit) {
  if (argument.kind() == Argument::Kind::Node) return visit(argument.node());
  for (const Argument& element : argument.elements()) forEachNode(element, visit);
}

// That what began with `firstNode` has nothing to do with gradients: no tensor from outside
// requires any, and none that is made there.
void requireNoGradients(Translator& translator, size_t firstNode) {
  for (size_t i = firstNode; i < translator.graph->size(); ++i) {
    Node* node = translator.graph->nodes()[i].get();
    if (node->operation == NodeOperation::Placeholder) {
      if (requiresGrad(translator, node)) refuse("a tensor that forward() uses requires gradients");
      continue;
    }
    bool hasInputs = false;
    auto check = [&](Node* input) {
      hasInputs = true;
      bool isOutside = static_cast<size_t>(input->index) < firstNode &&
                       input->operation != NodeOperation::GetAttribute;
      if (isOutside && requiresGrad(translator, input)) {
        refuse("a tensor that forward() uses requires gradients");
      }
    };
    for (const Argument& argument : node->arguments) forEachNode(argument, check);
    for (const auto& [name, argument] : node->keywordArguments) forEachNode(argument, check);
    if (!hasInputs && requiresGrad(translator, node)) {
      refuse("forward() makes a tensor that requires gradients");
    }
  }
}

// An argument that forward() returns comes out as a view of itself.
Value asOutput(Translator& translator, Value output, llvm::ArrayRef<Value> arguments) {
  translator.realize(output);
  if (!trackerOf<TensorVariable>(output)) return output;
  for (const Value& argument : arguments) {
    if (!output.sameAs(translator.realized(argument))) continue;
    static PyObject* const viewAs = staticName("view_as");
    CallArguments given;
    given.values.push_back(output);
    return callTensorMethod(translator, output, viewAs, given);
  }
  return output;
}

Value outputs(Translator& translator, Value result, llvm::ArrayRef<Value> arguments) {
  translator.realize(result);
  if (typeOf(result) != &PyTuple_Type) return asOutput(translator, result, arguments);
  ValueVector items;
  if (!iterateInto(translator, result, items)) return Value();
  for (Value& item : items) {
    item = asOutput(translator, item, arguments);
    if (!item) return item;
  }
  return makeTuple(translator, std::move(items));
}

// ctx: what torch makes of the class's own _backward_cls has the same methods, of FunctionCtx.
Value makeContext(Translator& translator, llvm::ArrayRef<Value> arguments) {
  Value cls = translator.knownClass(classNamed("FunctionCtx"));
  Value context = call(translator, cls, llvm::ArrayRef<Value>());
  if (!context) return context;
  ValueVector needs;
  for (const Value& argument : arguments) {
    auto* tensor = trackerOf<TensorVariable>(translator.realized(argument));
    needs.push_back(Value::boolean(tensor && requiresGrad(translator, tensor->node)));
  }
  static PyObject* const name = staticName("needs_input_grad");
  return setAttribute(translator, context, name, makeTuple(translator, std::move(needs))) ? context
                                                                                          : Value();
}

bool hasAttribute(Translator& translator, const Value& context, const char* name) {
  Value value = getOptionalAttribute(translator, context, Ref<>::steal(staticName(name)).get());
  if (translator.exceptionPending()) throw PendingPythonException();
  return static_cast<bool>(value);
}

Value callForward(Translator& translator, const Value& cls, const Value& context,
                  llvm::ArrayRef<Value> arguments) {
  PyTypeObject* type = requireKind<UserClassVariable>(cls)->value();
  PyTypeObject* base = classNamed("Function");
  static PyObject* const forwardName = staticName("forward");
  static PyObject* const setupName = staticName("setup_context");
  static PyObject* const jvpName = staticName("jvp");
  if (!translator.heap.inherits(type, base, jvpName)) refuse("the class has a jvp() of its own");
  Value forward = translator.realized(getAttribute(translator, cls, forwardName));
  if (!forward) return forward;
  ValueVector given(arguments.begin(), arguments.end());
  if (translator.heap.inherits(type, base, setupName)) {
    given.insert(given.begin(), context);
    return call(translator, forward, given);
  }
  auto* function = trackerOf<UserFunctionVariable>(forward);
  PyCodeObject* code = function ? function->code->original.get() : nullptr;
  bool isPlain = code && static_cast<size_t>(code->co_argcount) == arguments.size() &&
                 code->co_kwonlyargcount == 0;
  if (!isPlain) refuse("setup_context() would get arguments that the call does not give");
  Value result = call(translator, forward, given);
  Value setup = result ? getAttribute(translator, cls, setupName) : Value();
  if (!setup) return setup;
  Value inputs = makeTuple(translator, ValueVector(arguments.begin(), arguments.end()));
  return call(translator, setup, {context, inputs, result}) ? result : Value();
}

// A call whose gradients backward() computes: an operation of the graph, with what forward() did as
// a graph inside of it.
class DifferentiableCall {
 public:
  // `firstNode`: where forward() began.
  DifferentiableCall(Translator& translator, size_t firstNode)
      : translator_(translator), firstNode_(firstNode) {}

  Value finish(const Value& cls, const Value& context, const Value& result,
               llvm::ArrayRef<Value> given) {
    for (const Value& argument : given) {
      auto* tensor = trackerOf<TensorVariable>(translator_.realized(argument));
      if (tensor) addPassed(tensor->node);
      arguments_.push_back(tensor ? tensor->node : nullptr);
    }
    collect(context);
    return collectResults(result) ? addNode(cls) : Value();
  }

 private:
  // An attribute of the context, as far as the program has set it.
  struct Attribute {
    Ref<> name;
    Value value;
  };

  bool isComputed(Node* node) const {
    return node->operation != NodeOperation::Placeholder &&
           static_cast<size_t>(node->index) >= firstNode_;
  }
  void addPassed(Node* node) {
    if (isComputed(node)) {
      if (!llvm::is_contained(computed_, node)) computed_.push_back(node);
    } else if (!llvm::is_contained(passed_, node)) {
      passed_.push_back(node);
    }
  }

  void collect(const Value& context) {
    static PyObject* const dictName = staticName("__dict__");
    static PyObject* const needsName = staticName("needs_input_grad");
    static PyObject* const markedName = staticName("non_differentiable");
    auto* attributes =
        trackerOf<DictVariable>(translator_.realized(getAttribute(translator_, context, dictName)));
    if (!attributes) refuse("its context has no attributes");
    attributes->forEach(translator_, [&](const OrderedValueMap::Entry& entry) {
      PyObject* name = entry.key.objectOrNull();
      if (!name || !PyUnicode_CheckExact(name)) refuse("its context has attributes without names");
      if (PyUnicode_Compare(name, needsName) == 0) return;
      addNodes(entry.value);
      if (PyUnicode_Compare(name, markedName) == 0) marked_ = entry.value;
      attributes_.push_back({Ref<>::create(name), entry.value});
    });
  }

  void addNodes(const Value& given) {
    Value value = translator_.realized(given);
    if (auto* tensor = trackerOf<TensorVariable>(value)) return addPassed(tensor->node);
    if (typeOf(value) == &PyTuple_Type) {
      ValueVector items;
      if (!iterateInto(translator_, value, items)) throw PendingPythonException();
      for (const Value& item : items) addNodes(item);
    } else if (!value.objectOrNull()) {
      refuse("forward() leaves objects in its context");
    }
  }

  // False with an exception pending.
  bool collectResults(const Value& result) {
    Value whole = translator_.realized(result);
    isTuple_ = typeOf(whole) == &PyTuple_Type;
    if (!isTuple_) {
      results_.push_back(whole);
    } else if (!iterateInto(translator_, whole, results_)) {
      return false;
    }
    for (Value& each : results_) {
      translator_.realize(each);
      auto* tensor = trackerOf<TensorVariable>(each);
      if (!tensor && !each.objectOrNull()) refuse("forward() returns objects");
      if (!tensor) continue;
      bool isArgument = llvm::is_contained(arguments_, tensor->node);
      if (!isArgument && !isComputed(tensor->node)) refuse("forward() returns a tensor of others");
      if (llvm::is_contained(outputs_, tensor->node)) refuse("forward() returns a tensor twice");
      addPassed(tensor->node);
      outputs_.push_back(tensor->node);
    }
    if (outputs_.empty()) refuse("forward() returns no tensor");
    return true;
  }

  // What the results are outside: without what autograd adds, that of the nodes inside.
  std::shared_ptr<const TensorMetadata> metadataOf(Node* node) {
    const TensorMetadata* inside = torchLibrary().metadata(node, translator_);
    if (!inside) throw PendingPythonException();
    auto metadata = std::make_shared<TensorMetadata>(*inside);
    metadata->requiresGrad = isDifferentiable(*inside) && !isMarked(node);
    metadata->isLeaf = !metadata->requiresGrad;
    if (!isComputed(node)) metadata->mayBeView = true;
    metadata->dispatchKeys = 0;
    return metadata;
  }
  static bool isDifferentiable(const TensorMetadata& metadata) {
    return isFloating(metadata.dtype) || isComplex(metadata.dtype);
  }
  bool isMarked(Node* node) {
    if (!marked_) return false;
    ValueVector items;
    if (!iterateInto(translator_, marked_, items)) throw PendingPythonException();
    return llvm::any_of(items, [&](const Value& item) {
      auto* tensor = trackerOf<TensorVariable>(translator_.realized(item));
      return tensor && tensor->node == node;
    });
  }

  size_t numberOf(Node* node) const {
    auto* passed = llvm::find(passed_, node);
    if (passed != passed_.end()) return static_cast<size_t>(passed - passed_.begin());
    return passed_.size() + static_cast<size_t>(llvm::find(computed_, node) - computed_.begin());
  }

  Ref<> partOf(const Value& given) {
    Value value = translator_.realized(given);
    if (auto* tensor = trackerOf<TensorVariable>(value)) return valuePart(numberOf(tensor->node));
    if (PyObject* constant = value.objectOrNull()) return constantPart(constant);
    ValueVector items;
    if (!iterateInto(translator_, value, items)) return nullptr;
    return tuplePart(tupleOf(items, [&](const Value& item) { return checkedPart(item); }));
  }
  Ref<> checkedPart(const Value& value) {
    Ref<> part = partOf(value);
    if (!part) throw PendingPythonException();
    return part;
  }

  template <class Items, class Make>
  static Ref<> tupleOf(const Items& items, Make make) {
    Ref<> result = checked(PyTuple_New(static_cast<Py_ssize_t>(items.size())));
    for (size_t i = 0; i < items.size(); ++i) {
      PyTuple_SET_ITEM(result.get(), i, make(items[i]).release());
    }
    return result;
  }

  Value addNode(const Value& cls) {
    llvm::SmallVector<std::shared_ptr<const TensorMetadata>, 2> metadata;
    for (Node* output : outputs_) metadata.push_back(metadataOf(output));
    Graph::Subgraph body = translator_.outline(firstNode_, {computed_.begin(), computed_.end()});
    // The graph's own inputs come first.
    llvm::SmallVector<Node*, 8> passed(body.inputs.begin(), body.inputs.end());
    for (Node* node : passed_) {
      if (!llvm::is_contained(passed, node)) passed.push_back(node);
    }
    passed_ = std::move(passed);

    auto number = [&](Node* node) {
      return node ? checked(PyLong_FromSize_t(numberOf(node))) : Ref<>::create(Py_None);
    };
    AutogradCall call;
    call.functionClass =
        Ref<>::create(reinterpret_cast<PyObject*>(requireKind<UserClassVariable>(cls)->value()));
    call.arguments = tupleOf(arguments_, number);
    call.graphInputs = body.inputs.size();
    call.outputs = tupleOf(results_, [&](const Value& result) { return checkedPart(result); });
    call.attributes = tupleOf(attributes_, [&](const Attribute& attribute) {
      Ref<> part = checkedPart(attribute.value);
      return checked(PyTuple_Pack(2, attribute.name.get(), part.get()));
    });
    Ref<> target = makeAutogradCall(call);
    if (!target) throw PendingPythonException();

    static PyObject* const bodyName = staticName("fwd_body");
    std::vector<Argument> given = {Argument(translator_.addBody(torchLibrary(), body, bodyName))};
    given.insert(given.end(), passed_.begin(), passed_.end());
    Node* node = translator_.addOperation(torchLibrary(), target, std::move(given), {});
    auto* next = metadata.begin();
    for (size_t i = 0; i < results_.size(); ++i) {
      if (!trackerOf<TensorVariable>(results_[i])) continue;
      Node* item = addItemNode(translator_, torchLibrary(), node, i);
      item->mode = node->mode;
      item->metadata = *next++;
      results_[i] =
          translator_.make<TensorVariable>(torchLibrary().arrayType(), item, &torchLibrary());
    }
    return isTuple_ ? makeTuple(translator_, std::move(results_)) : results_[0];
  }

  Translator& translator_;
  size_t firstNode_;
  llvm::SmallVector<Node*, 4> arguments_;          // null: no tensor
  llvm::SmallVector<Node*, 8> passed_, computed_;  // from outside of forward(), and by it
  llvm::SmallVector<Node*, 2> outputs_;
  llvm::SmallVector<Attribute, 4> attributes_;
  Value marked_;  // as not differentiable
  ValueVector results_;
  bool isTuple_ = false;
};

bool anyRequiresGrad(Translator& translator, llvm::ArrayRef<Value> arguments) {
  if (!hasGradients(translator.mode(torchLibrary()))) return false;
  bool any = false;
  for (const Value& argument : arguments) {
    auto* tensor = trackerOf<TensorVariable>(translator.realized(argument));
    any |= tensor && requiresGrad(translator, tensor->node);
  }
  return any;
}

Value callApply(Translator& translator, const Value&, CallArguments& arguments) {
  if (arguments.keywordCount() || arguments.values.empty()) refuse("it is called by keywords");
  Value cls = translator.realized(arguments.values[0]);
  if (!trackerOf<UserClassVariable>(cls)) refuse("its class is not known");
  ValueVector given(arguments.values.begin() + 1, arguments.values.end());
  bool isDifferentiable = anyRequiresGrad(translator, given);
  if (isDifferentiable && translator.usesForeignBackend()) {
    refuse("the backend would run its backward() once and for all");
  }
  size_t firstNode = translator.graph->size();
  Value result, context;
  {
    SideEffects::BodyScope scope(translator.effects, translator.arena.trackers().size());
    WithoutGradients mode(translator);
    context = makeContext(translator, given);
    if (!context) return context;
    result = callForward(translator, cls, context, given);
    if (!result || hasGradients(translator.mode(torchLibrary())))
      refuse("forward() does not just return");
    if (hasAttribute(translator, context, "dirty_tensors"))
      refuse("forward() marks arguments dirty");
    if (!isDifferentiable) {
      result = outputs(translator, result, given);
      if (!mode.wasOff()) requireNoGradients(translator, firstNode);
    }
  }
  if (!isDifferentiable) return result;
  return DifferentiableCall(translator, firstNode).finish(cls, context, result, given);
}

// The function that torch.autograd.Function has as its class method `apply`; null if torch is not
// imported yet.
PyObject* findApply() {
  BorrowedRef<> type = importedAttribute("torch.autograd.function", "Function");
  if (!type || !PyType_Check(type.get())) return nullptr;
  PyObject* method = cpython::ownAttribute(reinterpret_cast<PyTypeObject*>(type.get()), "apply");
  if (!method || Py_TYPE(method) != &PyClassMethod_Type) return nullptr;
  return cpython::memberValue(method, cpython::ownAttribute(&PyClassMethod_Type, "__func__"));
}

}  // namespace

LibraryCallHandler findAutogradFunctionHandler(BorrowedRef<> function) {
  static PyObject* own = nullptr;  // lives as long as the process
  if (!own) own = Ref<>::create(findApply()).release();
  return own && own == function.get() ? callApply : nullptr;
}

}  // namespace armature
