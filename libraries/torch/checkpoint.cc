#include "libraries/torch/checkpoint.h"

#include "core/checked.h"
#include "core/text.h"
#include "cpython/imported_modules.h"
#include "libraries/torch/function_transforms.h"
#include "variables/functions/library_calls.h"
#include "variables/library.h"
#include "variables/outside_exceptions.h"
#include "variables/protocol/object_protocol.h"
#include "variables/translator.h"

namespace armature {

namespace {

[[noreturn]] void refuse(const char* reason) {
  throw GraphBreak(GraphBreakKind::UnsupportedLibraryFunction, "torch.utils.checkpoint.checkpoint",
                   reason);
}

// Keywords of checkpoint() itself; it passes the others to the function.
bool isOwnKeyword(PyObject* name) {
  for (const char* own : {"use_reentrant", "preserve_rng_state", "determinism_check", "debug",
                          "early_stop", "context_fn"}) {
    if (PyUnicode_CompareWithASCIIString(name, own) == 0) return true;
  }
  return false;
}

HigherOrderOperation checkpointOperation(PyObject* function) {
  static PyObject* const target = [] {
    Ref<> torch = checked(cpython::importModule("torch"));
    Ref<> operations = checked(PyObject_GetAttrString(torch.get(), "ops"));
    Ref<> higherOrder = checked(PyObject_GetAttrString(operations.get(), "higher_order"));
    return checked(PyObject_GetAttrString(higherOrder.get(), "tag_activation_checkpoint"))
        .release();
  }();
  static PyObject* const bodyName = staticName("wrap_body");
  // The operation only marks what a compiler may compute twice. Run eagerly, the program's own
  // function saves the memory that it is called for.
  return {Ref<>::create(target), Ref<>::create(function), Ref<>::create(bodyName), {}};
}

Value callCheckpoint(Translator& translator, const Value& callable, CallArguments& arguments) {
  requireNoTransform(translator, callable);
  HigherOrderOperation operation = checkpointOperation(
      callable.isTracker() ? callable.tracker()->existing() : callable.object());
  CallArguments inner;
  Ref<> innerNames = checked(PyList_New(0));
  bool isReentrant = true;
  for (const Value& value : arguments.positional()) inner.values.push_back(value);
  for (size_t i = 0; i < arguments.keywordCount(); ++i) {
    PyObject* name = arguments.keywordName(i);
    if (!isOwnKeyword(name)) {
      checked(PyList_Append(innerNames.get(), name));
      inner.values.push_back(arguments.keywordValue(i));
      continue;
    }
    Value value = translator.realized(arguments.keywordValue(i));
    if (PyUnicode_CompareWithASCIIString(name, "context_fn") == 0) {
      BorrowedRef<> none = cpython::importedAttribute("torch.utils.checkpoint", "noop_context_fn");
      PyObject* given = value.isTracker() ? value.tracker()->existing() : value.object();
      if (!none || given != none.get()) refuse("its context_fn makes contexts of its own");
      guardCallee(translator, value);
      continue;
    }
    PyObject* constant = value.objectOrNull();
    if (!constant || !(PyBool_Check(constant) || PyUnicode_CheckExact(constant))) {
      refuse("its options are not constants");
    }
    if (PyUnicode_CompareWithASCIIString(name, "use_reentrant") == 0) {
      isReentrant = constant != Py_False;
    }
    operation.keywords.emplace_back(Ref<>::create(name), Ref<>::create(constant));
  }
  if (isReentrant) refuse("only the form with use_reentrant=False can be in a graph");
  if (arguments.positionalCount() == 0) refuse("there is no function to checkpoint");
  Ref<> names = checked(PyList_AsTuple(innerNames.get()));
  if (PyTuple_GET_SIZE(names.get()) > 0) inner.keywordNames = names.get();
  Value function = inner.values[0];
  inner.values.erase(inner.values.begin());
  return translator.callInSubgraph(*findLibrary(ArrayLibraryKind::Torch), operation, function,
                                   inner);
}

// By it, what a backward pass computes again ends as soon as it has all that was saved.
BorrowedRef<> stopOfRecomputation() {
  return cpython::importedAttribute("torch.utils.checkpoint", "_StopRecomputationError");
}

}  // namespace

void registerCheckpoints() { registerOutsideException(stopOfRecomputation); }

LibraryCallHandler findCheckpointHandler(BorrowedRef<> function) {
  BorrowedRef<> checkpoint = cpython::importedAttribute("torch.utils.checkpoint", "checkpoint");
  return checkpoint && checkpoint.get() == function.get() ? callCheckpoint : nullptr;
}

}  // namespace armature
