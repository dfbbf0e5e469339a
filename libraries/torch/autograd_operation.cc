#include "libraries/torch/autograd_operation.h"

#include <llvm/ADT/STLExtras.h>

#include "core/checked.h"
#include "core/text.h"
#include "cpython/imported_modules.h"
#include "libraries/torch/body_parameter.h"
#include "libraries/torch/grad_modes.h"
#include "variables/containers/sequence.h"
#include "variables/functions/functions.h"
#include "variables/objects/user_defined.h"
#include "variables/protocol/object_protocol.h"
#include "variables/tensors/item_node.h"
#include "variables/tensors/tensor.h"

namespace armature {

namespace {

const Library& torchLibrary() { return *findLibrary(ArrayLibraryKind::Torch); }

Value optionalAttribute(Translator& translator, const Value& object, const char* name) {
  Value value = getOptionalAttribute(translator, object, Ref<>::steal(staticName(name)).get());
  if (translator.exceptionPending()) throw PendingPythonException();
  return value;
}

ValueVector itemsOf(Translator& translator, const Value& tuple) {
  ValueVector items;
  if (!iterateInto(translator, tuple, items)) throw PendingPythonException();
  for (Value& item : items) translator.realize(item);
  return items;
}

// The names of backward()'s parameters behind the context; empty where it has others than those.
std::vector<Ref<>> gradientNames(const Value& backward, size_t count) {
  auto* function = trackerOf<UserFunctionVariable>(backward);
  PyCodeObject* code = function ? function->code->original.get() : nullptr;
  std::vector<Ref<>> names;
  if (!code || static_cast<size_t>(code->co_argcount) != count + 1 ||
      (code->co_flags & CO_VARARGS)) {
    return names;
  }
  Ref<> all = checked(PyObject_GetAttrString(reinterpret_cast<PyObject*>(code), "co_varnames"));
  for (size_t i = 0; i < count; ++i) {
    names.push_back(Ref<>::create(PyTuple_GET_ITEM(all.get(), static_cast<Py_ssize_t>(i + 1))));
  }
  return names;
}

Argument indexList(llvm::ArrayRef<size_t> indices) {
  std::vector<Argument> elements;
  for (size_t index : indices) {
    elements.push_back(Argument::constant(checked(PyLong_FromSize_t(index))));
  }
  return Argument::aggregate(Argument::Kind::List, std::move(elements));
}

Argument tupleOf(llvm::ArrayRef<Node*> nodes) {
  return Argument::aggregate(Argument::Kind::Tuple, {nodes.begin(), nodes.end()});
}

class AutogradOperation {
 public:
  AutogradOperation(Translator& translator, const Value& context, size_t firstNode,
                    AutogradResults& results)
      : translator_(translator), context_(context), firstNode_(firstNode), results_(results) {}

  Value add(const Value& functionClass) {
    const auto& arguments = results_.arguments();
    for (size_t i = 0; i < arguments.size(); ++i) {
      if (arguments[i] && llvm::is_contained(arguments.take_front(i), arguments[i])) {
        refuseAutogradFunction("a tensor is given twice");
      }
    }
    auto metadata = results_.metadata();
    traceBackward(functionClass, metadata);
    return addNode(metadata);
  }

 private:
  using Metadata = llvm::ArrayRef<std::shared_ptr<const TensorMetadata>>;

  void traceBackward(const Value& functionClass, Metadata metadata) {
    auto* type =
        reinterpret_cast<PyTypeObject*>(requireKind<UserClassVariable>(functionClass)->value());
    BorrowedRef<> base = cpython::importedAttribute("torch.autograd.function", "Function");
    static PyObject* const backwardName = staticName("backward");
    static PyObject* const savedName = staticName("saved_tensors");
    if (translator_.heap.inherits(type, reinterpret_cast<PyTypeObject*>(base.get()),
                                  backwardName)) {
      refuseAutogradFunction("the class has no backward()");
    }
    requireGradientsForAll();
    Value saved = optionalAttribute(translator_, context_, "to_save");
    if (!saved) saved = makeTuple(translator_, {});
    for (const Value& each : itemsOf(translator_, saved)) {
      if (auto* tensor = trackerOf<TensorVariable>(each)) saved_.push_back(tensor->node);
    }
    if (!setAttribute(translator_, context_, savedName, saved)) throw PendingPythonException();

    backwardNode_ = translator_.graph->size();
    Value backward = translator_.realized(getAttribute(translator_, functionClass, backwardName));
    if (!backward) throw PendingPythonException();
    ValueVector given = {context_};
    Value result;
    {
      // forward() has made the context and what it saved; backward() finds them as it left them.
      SideEffects::BodyScope scope(translator_.effects, translator_.arena.trackers().size());
      addGradients(backward, metadata, given);
      Translator::UnknownLayouts layouts(translator_);
      setGradientMode(translator_, false);
      result = call(translator_, backward, given);
      if (!result || translator_.exceptionPending()) {
        refuseAutogradFunction("backward() does not just return");
      }
      if (isGradientModeOn(translator_)) {
        refuseAutogradFunction("backward() leaves torch in another mode");
      }
      setGradientMode(translator_, true);
    }
    collectGradients(translator_.realized(result));
  }

  // Where several tensors are returned and it asks for it, backward() may be given None.
  void requireGradientsForAll() {
    Value materializes = optionalAttribute(translator_, context_, "materialize_grads");
    bool mayBeNone = materializes && !materializes.is(Py_True);
    if (mayBeNone && results_.tensors().size() > 1) {
      refuseAutogradFunction("backward() is given None for some gradients");
    }
    if (optionalAttribute(translator_, context_, "_materialize_non_diff_grads")) {
      refuseAutogradFunction("forward() sets _materialize_non_diff_grads");
    }
  }

  // A parameter for the gradient of each tensor, which is as that tensor.
  void addGradients(const Value& backward, Metadata metadata, ValueVector& given) {
    std::vector<Ref<>> names = gradientNames(backward, results_.values().size());
    static PyObject* const unnamed = staticName("out");
    for (size_t i = 0; i < results_.values().size(); ++i) {
      if (!trackerOf<TensorVariable>(results_.values()[i])) {
        given.push_back(Value::none());
        continue;
      }
      auto gradient = std::make_shared<TensorMetadata>(*metadata[gradients_.size()]);
      gradient->requiresGrad = false;
      gradient->isLeaf = true;
      gradient->mayBeView = false;
      gradient->isParameter = false;
      Node* node =
          addBodyParameter(translator_, results_.tensors()[gradients_.size()], std::move(gradient),
                           names.empty() ? BorrowedRef<>(unnamed) : names[i]);
      gradients_.push_back(node);
      given.push_back(
          translator_.make<TensorVariable>(torchLibrary().arrayType(), node, &torchLibrary()));
    }
  }

  // One for each argument of the call; null for None.
  void collectGradients(const Value& result) {
    ValueVector values;
    if (trackerOf<SequenceVariable>(result)) {
      values = itemsOf(translator_, result);
    } else {
      values.push_back(result);
    }
    const auto& arguments = results_.arguments();
    if (values.size() < arguments.size()) {
      refuseAutogradFunction("backward() returns fewer gradients than there are arguments");
    }
    for (size_t i = 0; i < values.size(); ++i) {
      auto* tensor = trackerOf<TensorVariable>(values[i]);
      bool isOfTensor = i < arguments.size() && arguments[i];
      if (!(tensor && isOfTensor) && !values[i].is(Py_None)) {
        refuseAutogradFunction("backward() returns what is no gradient of an argument");
      }
      if (i < arguments.size()) returned_.push_back(tensor ? tensor->node : nullptr);
    }
  }

  static Argument gradientArgument(Node* node) {
    return node ? Argument(node) : Argument::constant(Py_None);
  }

  Value addNode(Metadata metadata) {
    std::vector<Argument> gradients;
    for (Node* node : returned_) gradients.push_back(gradientArgument(node));
    Graph::Subgraph backward = translator_.outline(
        backwardNode_, Argument::aggregate(Argument::Kind::Tuple, std::move(gradients)),
        {{gradients_.begin(), gradients_.end()}, {}});
    Graph::Parameters passed;
    for (Node* argument : results_.arguments()) {
      if (argument) passed.passed.push_back(argument);
    }
    Graph::Subgraph forward = translator_.outline(
        firstNode_,
        Argument::aggregate(Argument::Kind::Tuple,
                            {tupleOf(results_.tensors()), tupleOf(backward.inputs)}),
        passed);
    // One gradient for each input.
    gradients.clear();
    const std::vector<Argument>& ofArguments = backward.graph->output().elements();
    for (Node* input : forward.inputs) {
      auto* argument = llvm::find(results_.arguments(), input);
      bool isArgument = argument != results_.arguments().end();
      gradients.push_back(isArgument ? ofArguments[argument - results_.arguments().begin()]
                                     : Argument::constant(Py_None));
    }
    backward.graph->returns(Argument::aggregate(Argument::Kind::Tuple, std::move(gradients)));

    static PyObject* const forwardName = staticName("fwd_body");
    static PyObject* const backwardName = staticName("bwd_body");
    std::vector<Argument> given = {
        Argument(translator_.addBody(torchLibrary(), forward, forwardName)),
        Argument(translator_.addBody(torchLibrary(), backward, backwardName))};
    given.insert(given.end(), forward.inputs.begin(), forward.inputs.end());
    BorrowedRef<> target =
        cpython::importedAttribute("torch._functorch.autograd_function", "autograd_function_apply");
    if (!target) refuseAutogradFunction("torch has no operation for it");
    Node* node =
        translator_.addOperation(torchLibrary(), target, std::move(given), keywords(backward));
    static PyObject* const unnamed = staticName("");
    llvm::SmallVector<Node*, 2> items;
    for (size_t i = 0; i < results_.tensors().size(); ++i) {
      Node* item = addItemNode(translator_, torchLibrary(), node, i);
      item->metadata = metadata[i];
      item->variableName = Ref<>::create(unnamed);
      items.push_back(item);
    }
    return results_.build(items);
  }

  std::vector<std::pair<Ref<>, Argument>> keywords(const Graph::Subgraph& backward) const {
    static PyObject* const markedName = staticName("non_differentiable_idx");
    static PyObject* const savedName = staticName("saved_for_backward_idx");
    llvm::SmallVector<size_t, 2> marked, saved;
    for (size_t i = 0; i < results_.tensors().size(); ++i) {
      if (results_.isMarked(results_.tensors()[i])) marked.push_back(i);
    }
    for (size_t i = 0; i < backward.inputs.size(); ++i) {
      if (llvm::is_contained(saved_, backward.inputs[i])) saved.push_back(i);
    }
    return {{Ref<>::create(markedName), indexList(marked)},
            {Ref<>::create(savedName), indexList(saved)}};
  }

  Translator& translator_;
  Value context_;
  size_t firstNode_, backwardNode_ = 0;
  AutogradResults& results_;
  llvm::SmallVector<Node*, 4> saved_;      // by save_for_backward()
  llvm::SmallVector<Node*, 2> gradients_;  // what backward() is given
  llvm::SmallVector<Node*, 4> returned_;   // what it returns
};

}  // namespace

Value addAutogradOperation(Translator& translator, const Value& functionClass, const Value& context,
                           size_t firstNode, AutogradResults& results) {
  return AutogradOperation(translator, context, firstNode, results).add(functionClass);
}

}  // namespace armature
