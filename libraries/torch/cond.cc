#include "libraries/torch/cond.h"

#include <llvm/ADT/STLExtras.h>

#include <array>

#include "core/checked.h"
#include "core/text.h"
#include "cpython/imported_modules.h"
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

// The operator that torch.cond calls, an object.
BorrowedRef<> condOperator() {
  return cpython::importedAttribute("torch._higher_order_ops.cond", "cond_op");
}

[[noreturn]] void refuse(const char* reason) {
  throw GraphBreak(GraphBreakKind::UnsupportedLibraryFunction, "torch.cond", reason);
}

// What the operator does with arrays that have data.
PyObject* runBranch(PyObject*, PyObject* const* arguments, Py_ssize_t count) {
  if (count != 4 || !PyTuple_Check(arguments[3])) {
    PyErr_SetString(PyExc_TypeError, "a predicate, two functions and a tuple are wanted");
    return nullptr;
  }
  int isTrue = PyObject_IsTrue(arguments[0]);
  return isTrue < 0 ? nullptr
                    : PyObject_CallObject(isTrue ? arguments[1] : arguments[2], arguments[3]);
}

PyObject* eagerTarget() {
  static PyMethodDef method = {
      "cond", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(runBranch)), METH_FASTCALL,
      nullptr};
  static PyObject* const function = checked(PyCFunction_New(&method, nullptr)).release();
  return function;
}

// Do both branches return the same but for data? The results are the branches' own.
bool isAlike(Translator& translator, const Value& one, const Value& other) {
  if (!one.isTracker() || !other.isTracker()) {
    return one.sameAs(other) ||
           (one.objectOrNull() && other.objectOrNull() && typeOf(one) == &PyLong_Type &&
            typeOf(other) == &PyLong_Type &&
            PyObject_RichCompareBool(one.object(), other.object(), Py_EQ) == 1);
  }
  if (typeOf(one) != typeOf(other)) return false;
  if (auto* tensor = trackerOf<TensorVariable>(one)) {
    auto* second = requireKind<TensorVariable>(other);
    const TensorMetadata* metadata = torchLibrary().metadata(tensor->node, translator);
    const TensorMetadata* secondMetadata = torchLibrary().metadata(second->node, translator);
    return metadata && secondMetadata && *metadata == *secondMetadata;
  }
  if (auto* sequence = trackerOf<SequenceVariable>(one)) {
    auto& items = requireKind<SequenceVariable>(other)->items();
    return llvm::all_of_zip(sequence->items(), items, [&](const Value& left, const Value& right) {
      return isAlike(translator, left, right);
    });
  }
  auto* dict = trackerOf<DictVariable>(one);
  auto* second = trackerOf<DictVariable>(other);
  if (!dict || !second || dict->size(translator) != second->size(translator)) return false;
  ValueVector parts[2];
  DictVariable* dicts[2] = {dict, second};
  for (size_t i = 0; i < 2; ++i) {
    dicts[i]->forEach(translator, [&](const OrderedValueMap::Entry& entry) {
      parts[i].push_back(entry.key);
      parts[i].push_back(entry.value);
    });
  }
  return llvm::all_of_zip(parts[0], parts[1], [&](const Value& left, const Value& right) {
    return isAlike(translator, left, right);
  });
}

// cond(pred, true_fn, false_fn, operands=())
std::array<Value, 4> parameters(const CallArguments& arguments) {
  std::array<Value, 4> result;
  if (arguments.positionalCount() > result.size()) refuse("it is given too many arguments");
  for (size_t i = 0; i < arguments.positionalCount(); ++i) result[i] = arguments.values[i];
  constexpr std::array names = {"pred", "true_fn", "false_fn", "operands"};
  size_t named = 0;
  for (size_t i = arguments.positionalCount(); i < names.size(); ++i) {
    const Value* value = arguments.keyword(names[i]);
    if (!value) continue;
    result[i] = *value;
    ++named;
  }
  if (named != arguments.keywordCount()) refuse("it is given other keywords");
  for (size_t i = 0; i < 3; ++i) {
    if (!result[i]) refuse("an argument is missing");
  }
  return result;
}

Value callCond(Translator& translator, const Value& callable, CallArguments& arguments) {
  auto [given, whenTrue, whenFalse, operands] = parameters(arguments);
  Value predicate = translator.realized(given);
  ValueVector passed;
  if (operands && !iterateInto(translator, operands, passed)) return Value();
  CallArguments inner;
  inner.values.assign(passed.begin(), passed.end());
  if (PyObject* constant = predicate.objectOrNull()) {
    if (!PyBool_Check(constant) && !PyLong_CheckExact(constant) && !PyFloat_CheckExact(constant)) {
      refuse("its predicate is neither a tensor nor a number");
    }
    translator.warnings.insert(
        "torch.cond has a Python constant for its predicate: only one branch is captured.");
    return call(translator, PyObject_IsTrue(constant) ? whenTrue : whenFalse, inner);
  }
  requireNoTransform(translator, callable);
  auto* tensor = trackerOf<TensorVariable>(predicate);
  if (!tensor) refuse("its predicate is neither a tensor nor a number");
  const TensorMetadata* metadata = torchLibrary().metadata(tensor->node, translator);
  if (!metadata) throw PendingPythonException();
  if (metadata->numel() != 1) refuse("its predicate is not one truth value");

  CallArguments second = inner;
  Body trueBody(translator, torchLibrary(), whenTrue, inner);
  trueBody.requireResult();
  Body falseBody(translator, torchLibrary(), whenFalse, second);
  falseBody.requireResult();
  if (trueBody.returnsOthers() || falseBody.returnsOthers()) {
    refuse("a branch returns what it has not made itself");
  }
  if (!isAlike(translator, trueBody.result(), falseBody.result())) {
    refuse("the branches return arrays or structures that differ");
  }
  if (trueBody.outputs().size() != falseBody.outputs().size()) {
    refuse("one branch returns an array twice");
  }
  static PyObject* const childName = staticName("child");
  static PyObject* const valueName = staticName("value");
  for (const Body* body : {&trueBody, &falseBody}) {
    nameParts(translator, body->result(), childName, childName);
  }
  // What comes last is moved first.
  Graph::Subgraph falseGraph = falseBody.outline();
  Graph::Subgraph trueGraph = trueBody.outline();
  shareInputs(trueGraph, "true_branch", falseGraph, "false_branch");

  static PyObject* const trueName = staticName("cond_true");
  static PyObject* const falseName = staticName("cond_false");
  Argument trueArgument(translator.addBody(torchLibrary(), trueGraph, trueName));
  Argument falseArgument(translator.addBody(torchLibrary(), falseGraph, falseName));
  std::vector<Argument> inputs(trueGraph.inputs.begin(), trueGraph.inputs.end());
  Node* node =
      translator.addOperation(torchLibrary(), condOperator(),
                              {Argument(tensor->node), trueArgument, falseArgument,
                               Argument::aggregate(Argument::Kind::Tuple, std::move(inputs))},
                              {});
  node->eagerTarget = Ref<>::create(eagerTarget());
  trueBody.takeItemsOf(node);
  nameParts(translator, trueBody.result(), nullptr, valueName);
  return trueBody.result();
}

}  // namespace

LibraryCallHandler findCondHandler(BorrowedRef<> callable) {
  BorrowedRef<> function = cpython::importedAttribute("torch._higher_order_ops.cond", "cond");
  bool isCond = (function && function.get() == callable.get()) ||
                (condOperator() && condOperator().get() == callable.get());
  return isCond ? callCond : nullptr;
}

}  // namespace armature
