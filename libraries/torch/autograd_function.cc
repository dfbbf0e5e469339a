#include "libraries/torch/autograd_function.h"

#include "core/checked.h"
#include "cpython/member_descriptors.h"
#include "cpython/type_lookup.h"
#include "libraries/torch/imported_attribute.h"
#include "variables/containers/dict.h"
#include "variables/containers/sequence.h"
#include "variables/functions/functions.h"
#include "variables/functions/library_calls.h"
#include "variables/objects/user_defined.h"
#include "variables/protocol/object_protocol.h"
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
    translator_.startInMode(torchLibrary(), 0);
  }
  ~WithoutGradients() { translator_.startInMode(torchLibrary(), before_); }
  WithoutGradients(const WithoutGradients&) = delete;
  WithoutGradients& operator=(const WithoutGradients&) = delete;

  bool wasOff() const { return before_ == 0; }

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

Value callApply(Translator& translator, const Value&, CallArguments& arguments) {
  if (arguments.keywordCount() || arguments.values.empty()) refuse("it is called by keywords");
  Value cls = translator.realized(arguments.values[0]);
  if (!trackerOf<UserClassVariable>(cls)) refuse("its class is not known");
  ValueVector given(arguments.values.begin() + 1, arguments.values.end());
  for (const Value& argument : given) {
    auto* tensor = trackerOf<TensorVariable>(translator.realized(argument));
    bool isOn = translator.mode(torchLibrary()) != 0;
    if (tensor && isOn && requiresGrad(translator, tensor->node)) {
      refuse("an argument requires gradients, which its own backward() computes");
    }
  }
  size_t firstNode = translator.graph->size();
  Value result;
  {
    SideEffects::BodyScope scope(translator.effects, translator.arena.trackers().size());
    WithoutGradients mode(translator);
    Value context = makeContext(translator, given);
    if (!context) return context;
    result = callForward(translator, cls, context, given);
    if (!result || translator.mode(torchLibrary()) != 0) refuse("forward() does not just return");
    if (hasAttribute(translator, context, "dirty_tensors"))
      refuse("forward() marks arguments dirty");
    result = outputs(translator, result, given);
    if (!mode.wasOff()) requireNoGradients(translator, firstNode);
  }
  return result;
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
