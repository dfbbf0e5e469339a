#include "libraries/torch/autograd_function.h"

#include <llvm/ADT/DenseSet.h>
#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/SmallVector.h>

#include "core/checked.h"
#include "cpython/imported_modules.h"
#include "cpython/member_descriptors.h"
#include "cpython/type_lookup.h"
#include "libraries/package_modules.h"
#include "libraries/torch/allowed_functions.h"
#include "libraries/torch/autograd_call.h"
#include "libraries/torch/autograd_operation.h"
#include "libraries/torch/function_transforms.h"
#include "libraries/torch/grad_modes.h"
#include "libraries/torch/operation_nodes.h"
#include "libraries/torch/regions.h"
#include "variables/containers/dict.h"
#include "variables/containers/sequence.h"
#include "variables/functions/functions.h"
#include "variables/functions/library_calls.h"
#include "variables/objects/user_defined.h"
#include "variables/protocol/object_protocol.h"
#include "variables/tensors/assigned_memory.h"
#include "variables/tensors/item_node.h"
#include "variables/tensors/tensor.h"
#include "variables/tensors/tensor_attributes.h"
#include "variables/trailed.h"

namespace armature {

namespace {

constexpr auto refuse = refuseAutogradFunction;

PyTypeObject* classNamed(const char* name) {
  BorrowedRef<> found = cpython::importedAttribute("torch.autograd.function", name);
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
    // A break takes back what forward() has set, and comes to what is set here.
    auto leave = [to = &translator, before = before_] { to->startInMode(torchLibrary(), before); };
    recordUndo(translator.trail, leave);
    translator_.startInMode(torchLibrary(), withGradients(before_, false));
  }
  ~WithoutGradients() { translator_.startInMode(torchLibrary(), before_); }
  WithoutGradients(const WithoutGradients&) = delete;
  WithoutGradients& operator=(const WithoutGradients&) = delete;

  bool wasOff() const { return !hasGradients(before_); }
  // At the end of what began with `firstNode`: where that has set the mode, it is set back.
  void setBack(size_t firstNode) {
    if (translator_.mode(torchLibrary()) != withGradients(before_, false)) {
      refuse("forward() leaves torch in another mode");
    }
    auto setsMode = [](const auto& node) { return node->newMode.has_value(); };
    bool isSet = llvm::any_of(llvm::drop_begin(translator_.graph->nodes(), firstNode), setsMode);
    if (isSet && !wasOff()) setGradientMode(translator_, true);
  }

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

// Is it an operation that may give a tensor that requires gradients, whatever it is given?
bool mayMakeLeaf(const Node& node) {
  if (nameOf(node) == "requires_grad_") return true;
  bool hasInputs = false;
  forEachInput(node, [&](Node*) { hasInputs = true; });
  return !hasInputs || llvm::any_of(node.keywordArguments, [](const auto& keyword) {
    return stringView(keyword.first) == "requires_grad";
  });
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
    forEachInput(*node, [&](Node* input) {
      bool isOutside = static_cast<size_t>(input->index) < firstNode &&
                       input->operation != NodeOperation::GetAttribute;
      if (isOutside && requiresGrad(translator, input)) {
        refuse("a tensor that forward() uses requires gradients");
      }
    });
    bool isOperation = node->operation != NodeOperation::GetAttribute &&
                       torchLibrary().effectOf(*node) != NodeEffect::Mode;
    if (isOperation && mayMakeLeaf(*node) && requiresGrad(translator, node)) {
      refuse("forward() makes a tensor that requires gradients");
    }
  }
}

// Is it that tensor, also where an operation has returned what it was given? Of what bodies of the
// graph and levels of transforms return, nothing tells; it is taken for new.
bool isSameTensor(Translator& translator, const Value& tensor, const Value& argument) {
  if (!trackerOf<TensorVariable>(translator.realized(argument))) return false;
  try {
    return isSame(translator, tensor, argument);
  } catch (const GraphBreak& reason) {
    if (reason.kind() != GraphBreakKind::IdentityOfResults) throw;
    return false;
  }
}

// An argument that forward() returns comes out as a view of itself.
Value asOutput(Translator& translator, Value output, llvm::ArrayRef<Value> arguments) {
  translator.realize(output);
  if (!trackerOf<TensorVariable>(output)) return output;
  for (const Value& argument : arguments) {
    if (!isSameTensor(translator, output, argument)) continue;
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

bool hasOwnSetup(Translator& translator, const Value& cls) {
  static PyObject* const setupName = staticName("setup_context");
  PyTypeObject* type = requireKind<UserClassVariable>(cls)->value();
  return !translator.heap.inherits(type, classNamed("Function"), setupName);
}

// torch refuses to save an argument that comes out as it is, where setup_context() saves it: it
// cannot tell the two apart then (custom_function.cpp, _process_backward_mode_ad).
void refuseSavedOutputs(Translator& translator, const Value& context, const Value& result,
                        llvm::ArrayRef<Value> arguments) {
  static PyObject* const savedName = staticName("to_save");
  Value saved = getOptionalAttribute(translator, context, savedName);
  if (!saved) return;
  auto tensorsOf = [&](const Value& value) {
    ValueVector items;
    if (typeOf(translator.realized(value)) != &PyTuple_Type) {
      items.push_back(value);
    } else if (!iterateInto(translator, value, items)) {
      throw PendingPythonException();
    }
    llvm::erase_if(items, [&](const Value& item) {
      return !trackerOf<TensorVariable>(translator.realized(item));
    });
    return items;
  };
  ValueVector kept = tensorsOf(saved), given = tensorsOf(result);
  for (const Value& argument : arguments) {
    auto isArgument = [&](const Value& tensor) {
      return isSameTensor(translator, tensor, argument);
    };
    if (llvm::any_of(kept, isArgument) && llvm::any_of(given, isArgument)) {
      refuse("setup_context() saves an argument that forward() returns");
    }
  }
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
  if (!hasOwnSetup(translator, cls)) {
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
  if (!call(translator, setup, {context, inputs, result})) return Value();
  refuseSavedOutputs(translator, context, result, arguments);
  return result;
}

// A call whose gradients backward() computes as Python: an operation of the graph, with what
// forward() did as a graph inside of it.
class DifferentiableCall {
 public:
  // `firstNode`: where forward() began. `results` has collected what it returned.
  DifferentiableCall(Translator& translator, size_t firstNode, AutogradResults& results)
      : translator_(translator), firstNode_(firstNode), results_(results) {}

  Value add(const Value& cls, const Value& context) {
    for (Node* argument : results_.arguments()) {
      if (argument) addPassed(argument);
    }
    collect(context);
    for (Node* tensor : results_.tensors()) addPassed(tensor);
    return addNode(cls);
  }

 private:
  // An attribute of the context, as far as the program has set it.
  struct Attribute {
    Ref<> name;
    Value value;
  };

  void addPassed(Node* node) {
    if (results_.isComputed(node)) {
      if (!llvm::is_contained(computed_, node)) computed_.push_back(node);
    } else if (!llvm::is_contained(passed_, node)) {
      passed_.push_back(node);
    }
  }

  void collect(const Value& context) {
    static PyObject* const dictName = staticName("__dict__");
    static PyObject* const needsName = staticName("needs_input_grad");
    auto* attributes =
        trackerOf<DictVariable>(translator_.realized(getAttribute(translator_, context, dictName)));
    if (!attributes) refuse("its context has no attributes");
    attributes->forEach(translator_, [&](const OrderedValueMap::Entry& entry) {
      PyObject* name = entry.key.objectOrNull();
      if (!name || !PyUnicode_CheckExact(name)) refuse("its context has attributes without names");
      if (PyUnicode_Compare(name, needsName) == 0) return;
      addNodes(entry.value);
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
    auto metadata = results_.metadata();
    Graph::Subgraph body = translator_.outline(
        firstNode_,
        Argument::aggregate(Argument::Kind::Tuple, {computed_.begin(), computed_.end()}));
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
    call.arguments = tupleOf(results_.arguments(), number);
    call.graphInputs = body.inputs.size();
    call.outputs =
        tupleOf(results_.values(), [&](const Value& result) { return checkedPart(result); });
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
    llvm::SmallVector<Node*, 2> items;
    for (size_t i = 0; i < results_.values().size(); ++i) {
      if (!trackerOf<TensorVariable>(results_.values()[i])) continue;
      Node* item = addItemNode(translator_, torchLibrary(), node, i);
      item->mode = node->mode;
      item->metadata = metadata[items.size()];
      items.push_back(item);
    }
    return results_.build(items);
  }

  Translator& translator_;
  size_t firstNode_;
  AutogradResults& results_;
  llvm::SmallVector<Node*, 8> passed_, computed_;  // from outside of forward(), and by it
  llvm::SmallVector<Attribute, 4> attributes_;
};

bool anyRequiresGrad(Translator& translator, llvm::ArrayRef<Value> arguments) {
  if (!hasGradients(translator.mode(torchLibrary()))) return false;
  bool any = false;
  for (const Value& argument : arguments) {
    auto* tensor = trackerOf<TensorVariable>(translator.realized(argument));
    requireOwnMemory(argument);
    any |= tensor && requiresGrad(translator, tensor->node);
  }
  return any;
}

Value optionalAttribute(Translator& translator, const Value& context, const char* name) {
  Value value = getOptionalAttribute(translator, context, Ref<>::steal(staticName(name)).get());
  if (translator.exceptionPending()) throw PendingPythonException();
  return value;
}

// Runs forward(). Null with an exception pending; breaks where it does not just return.
Value traceForward(Translator& translator, const Value& cls, const Value& context,
                   llvm::ArrayRef<Value> arguments) {
  Value result = callForward(translator, cls, context, arguments);
  if (!result || isGradientModeOn(translator)) refuse("forward() does not just return");
  if (optionalAttribute(translator, context, "dirty_tensors")) {
    refuse("forward() marks arguments dirty");
  }
  return result;
}

// After the variables of torch's own code in which TorchDynamo sees them.
void nameResults(Translator& translator, const Value& cls, const Value& result) {
  static PyObject* const ofSetup = staticName("output");
  static PyObject* const ofOne = staticName("outs");
  static PyObject* const ofSeveral = staticName("out");
  auto name = [&](const Value& value, PyObject* text) {
    auto* tensor = trackerOf<TensorVariable>(translator.realized(value));
    bool isNew = tensor && tensor->node->operation != NodeOperation::Placeholder;
    if (isNew && !tensor->node->variableName) tensor->node->variableName = Ref<>::create(text);
  };
  name(result, hasOwnSetup(translator, cls) ? ofSetup : ofOne);
  auto* several = trackerOf<TupleVariable>(translator.realized(result));
  if (!several) return;
  for (const Value& item : several->items()) name(item, ofSeveral);
}

Value callWithoutGradients(Translator& translator, const Value& cls,
                           llvm::ArrayRef<Value> arguments) {
  size_t firstNode = translator.graph->size();
  SideEffects::BodyScope scope(translator.effects, translator.arena.trackers().size());
  WithoutGradients mode(translator);
  Value context = makeContext(translator, arguments);
  if (!context) return context;
  Value result = traceForward(translator, cls, context, arguments);
  result = outputs(translator, result, arguments);
  if (!mode.wasOff()) requireNoGradients(translator, firstNode);
  mode.setBack(firstNode);
  return result;
}

// Modules' backward hooks find their own function again by its name in the history of its results,
// where backends put another.
bool isFoundByName(const Value& cls) {
  BorrowedRef<> known =
      cpython::importedAttribute("torch.nn.modules._functions", "BackwardHookFunction");
  return known && cls.isTracker() && cls.tracker()->existing() == known.get();
}

// Backends other than "eager" get graphs of both directions. That one runs backward() as it is.
Value callWithGradients(Translator& translator, const Value& cls, llvm::ArrayRef<Value> arguments) {
  size_t firstNode = translator.graph->size();
  AutogradResults results(translator, firstNode, AutogradResults::nodesOf(translator, arguments));
  bool isForeign = translator.usesForeignBackend();
  if (isForeign && isFoundByName(cls)) refuse("it is found again by its name");
  Value context, result;
  {
    SideEffects::BodyScope scope(translator.effects, translator.arena.trackers().size());
    context = makeContext(translator, arguments);
    if (!context) return context;
    if (isForeign) {
      setGradientMode(translator, false);
      result = traceForward(translator, cls, context, arguments);
      nameResults(translator, cls, result);
      setGradientMode(translator, true);
      result = outputs(translator, result, arguments);
      if (!result) return result;
    } else {
      WithoutGradients mode(translator);
      result = traceForward(translator, cls, context, arguments);
    }
  }
  Value marked = optionalAttribute(translator, context, "non_differentiable");
  if (!results.collect(result, marked)) return Value();
  return isForeign ? addAutogradOperation(translator, cls, context, firstNode, results)
                   : DifferentiableCall(translator, firstNode, results).add(cls, context);
}

// Inside of transforms, apply() does what the class has for each (its vmap(), its jvp(), its
// backward() where torch.func.grad asks); of another than torch's own rule for vmap, forward() does
// not tell.
void requireTransforms(Translator& translator, const Value& cls) {
  uint32_t mode = translator.mode(torchLibrary());
  if (!hasTransform(mode)) return requireNoTransform(translator, cls);
  bool isMapped = llvm::all_of(regionsOf(mode), [](uint32_t number) {
    const Region& region = regionAt(number);
    return region.kind == RegionKind::Vmap || !isTransform(region);
  });
  static PyObject* const generateName = staticName("generate_vmap_rule");
  static PyObject* const vmapName = staticName("vmap");
  Value generates =
      isMapped ? translator.realized(getAttribute(translator, cls, generateName)) : Value();
  PyTypeObject* type = requireKind<UserClassVariable>(cls)->value();
  bool hasTorchsRule = generates && generates.is(Py_True) && hasOwnSetup(translator, cls) &&
                       translator.heap.inherits(type, classNamed("Function"), vmapName);
  if (!hasTorchsRule) refuse("it stands inside of a transform");
}

// Inside of a level, torch hides whether what an array wraps requires gradients: what began with
// `firstNode`, and what it is made from.
void requireNoGradientsAround(Translator& translator, size_t firstNode) {
  llvm::SmallVector<Node*, 8> open;
  for (size_t i = firstNode; i < translator.graph->size(); ++i) {
    open.push_back(translator.graph->nodes()[i].get());
  }
  llvm::DenseSet<const Node*> seen;
  while (!open.empty()) {
    Node* node = open.pop_back_val();
    if (!seen.insert(node).second || node->operation == NodeOperation::GetAttribute) continue;
    if (isOfTransform(*node) && !leavesLevels(*node)) {
      forEachInput(*node, [&](Node* input) { open.push_back(input); });
    } else if (requiresGrad(translator, node)) {
      refuse("it stands inside of a transform, and a gradient may be asked for");
    }
  }
}

// Torch's rule for vmap takes a tensor, or a tuple of them.
bool areTensors(Translator& translator, const Value& given) {
  Value result = translator.realized(given);
  if (trackerOf<TensorVariable>(result)) return true;
  auto* several = trackerOf<TupleVariable>(result);
  return several && llvm::all_of(several->items(), [&](const Value& item) {
           return trackerOf<TensorVariable>(translator.realized(item)) != nullptr;
         });
}

// The program has put the class into graphs as it is: its `apply` is an operation.
Value callAllowed(Translator& translator, UserClassVariable& cls, CallArguments& arguments) {
  Ref<> apply = applyOfAllowed(cls.value());
  arguments.values.erase(arguments.values.begin());
  return translator.callGraphOperation(torchLibrary(), NodeOperation::CallFunction, apply,
                                       {.kind = CallKind::GraphOperation}, arguments.values,
                                       nullptr);
}

Value callApply(Translator& translator, const Value&, CallArguments& arguments) {
  if (arguments.keywordCount() || arguments.values.empty()) refuse("it is called by keywords");
  Value cls = translator.realized(arguments.values[0]);
  auto* known = trackerOf<UserClassVariable>(cls);
  if (!known) refuse("its class is not known");
  if (known->existing() && isAllowedClass(known->value())) {
    return callAllowed(translator, *known, arguments);
  }
  requireTransforms(translator, cls);
  ValueVector given(arguments.values.begin() + 1, arguments.values.end());
  uint32_t mode = translator.mode(torchLibrary());
  bool isInside = hasTransform(mode);
  if (!isInside && anyRequiresGrad(translator, given)) {
    return callWithGradients(translator, cls, given);
  }
  size_t firstNode = translator.graph->size();
  Value result = callWithoutGradients(translator, cls, given);
  if (!isInside || !result) return result;
  if (hasGradients(mode)) requireNoGradientsAround(translator, firstNode);
  if (!areTensors(translator, result)) refuse("it returns no tensors");
  return result;
}

// The function that torch.autograd.Function has as its class method `apply`; null if torch is not
// imported yet.
PyObject* findApply() {
  BorrowedRef<> type = cpython::importedAttribute("torch.autograd.function", "Function");
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
