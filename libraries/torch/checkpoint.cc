#include "libraries/torch/checkpoint.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/ADT/SmallVector.h>

#include <string>
#include <vector>

#include "core/checked.h"
#include "core/text.h"
#include "cpython/c_functions.h"
#include "cpython/imported_modules.h"
#include "libraries/torch/function_transforms.h"
#include "variables/functions/library_calls.h"
#include "variables/library.h"
#include "variables/outside_exceptions.h"
#include "variables/protocol/object_protocol.h"
#include "variables/tensors/tensor.h"
#include "variables/translator.h"

namespace armature {

namespace {

// --- Run eagerly: the program's own function, which is given what the program gives it. Of that it
// keeps the arrays, and refuses a backward pass once one was changed. What the body takes from
// outside comes to the body past it.

// What the eager function is bound to, a tuple: the program's function; and a bytes, of which each
// byte says for an input of the body whether it is an argument that the program passes.
constexpr Py_ssize_t kProgramsFunction = 0, kPassed = 1;

// body_with(*passed), bound to the body, the bytes, and the other inputs.
PyObject* runBody(PyObject* self, PyObject* const* arguments, Py_ssize_t count) {
  PyObject *passed = PyTuple_GET_ITEM(self, 1), *others = PyTuple_GET_ITEM(self, 2);
  Py_ssize_t inputs = PyBytes_GET_SIZE(passed);
  if (count + PyTuple_GET_SIZE(others) != inputs) {
    PyErr_SetString(PyExc_TypeError, "a checkpointed body is given other arguments");
    return nullptr;
  }
  llvm::SmallVector<PyObject*, 8> all;
  Py_ssize_t other = 0;
  for (Py_ssize_t i = 0; i < inputs; ++i) {
    bool isPassed = PyBytes_AS_STRING(passed)[i];
    all.push_back(isPassed ? *arguments++ : PyTuple_GET_ITEM(others, other++));
  }
  return PyObject_Vectorcall(PyTuple_GET_ITEM(self, 0), all.data(), all.size(), nullptr);
}

// checkpoint(body, *inputs, **options)
PyObject* runCheckpoint(PyObject* self, PyObject* const* arguments, Py_ssize_t count,
                        PyObject* names) {
  static PyMethodDef bodyMethod = {"body", cpython::asMethod(runBody), METH_FASTCALL, nullptr};
  PyObject* passed = PyTuple_GET_ITEM(self, kPassed);
  if (count != 1 + PyBytes_GET_SIZE(passed)) {
    PyErr_SetString(PyExc_TypeError, "a checkpoint is given other inputs than were traced");
    return nullptr;
  }
  Ref<> others = Ref<>::steal(PyList_New(0));
  if (!others) return nullptr;
  llvm::SmallVector<PyObject*, 8> given = {nullptr};
  for (Py_ssize_t i = 1; i < count; ++i) {
    if (PyBytes_AS_STRING(passed)[i - 1]) {
      given.push_back(arguments[i]);
    } else if (PyList_Append(others.get(), arguments[i]) < 0) {
      return nullptr;
    }
  }
  Ref<> tuple = Ref<>::steal(PyList_AsTuple(others.get()));
  Ref<> bound = Ref<>::steal(tuple ? PyTuple_Pack(3, arguments[0], passed, tuple.get()) : nullptr);
  Ref<> body = Ref<>::steal(bound ? PyCFunction_New(&bodyMethod, bound.get()) : nullptr);
  if (!body) return nullptr;
  given[0] = body.get();
  size_t positional = given.size();
  for (Py_ssize_t i = 0; names && i < PyTuple_GET_SIZE(names); ++i) {
    given.push_back(arguments[count + i]);
  }
  return PyObject_Vectorcall(PyTuple_GET_ITEM(self, kProgramsFunction), given.data(), positional,
                             names);
}

// For the inputs of the operation behind its body.
Ref<> eagerCheckpoint(BorrowedRef<> function, const Node& operation,
                      const llvm::SmallPtrSetImpl<const Node*>& passed) {
  static PyMethodDef method = {"checkpoint", cpython::asMethod(runCheckpoint),
                               METH_FASTCALL | METH_KEYWORDS, nullptr};
  std::string marks;
  for (const Argument& input : llvm::drop_begin(operation.arguments)) {
    marks.push_back(passed.contains(input.node()));
  }
  Ref<> bytes = checked(PyBytes_FromStringAndSize(marks.data(), marks.size()));
  Ref<> self = checked(PyTuple_Pack(2, function.get(), bytes.get()));
  return checked(PyCFunction_New(&method, self.get()));
}

// --- Traced.

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

HigherOrderOperation checkpointOperation() {
  static PyObject* const target = [] {
    Ref<> torch = checked(cpython::importModule("torch"));
    Ref<> operations = checked(PyObject_GetAttrString(torch.get(), "ops"));
    Ref<> higherOrder = checked(PyObject_GetAttrString(operations.get(), "higher_order"));
    return checked(PyObject_GetAttrString(higherOrder.get(), "tag_activation_checkpoint"))
        .release();
  }();
  static PyObject* const bodyName = staticName("wrap_body");
  return {Ref<>::create(target), Ref<>(), Ref<>::create(bodyName), {}};
}

// The operation only marks what a compiler may compute twice. Run eagerly, the program's own
// function saves the memory that it is called for.
void runProgramsFunction(Translator& translator, const HigherOrderOperation& operation,
                         BorrowedRef<> function, size_t before,
                         const llvm::SmallPtrSetImpl<const Node*>& passed) {
  for (size_t i = translator.graph->size(); i-- > before;) {
    Node& node = *translator.graph->nodes()[i];
    if (node.target.get() != operation.target.get()) continue;
    node.eagerTarget = eagerCheckpoint(function, node, passed);
    return;
  }
}

Value callCheckpoint(Translator& translator, const Value& callable, CallArguments& arguments) {
  requireNoTransform(translator, callable);
  HigherOrderOperation operation = checkpointOperation();
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
  std::vector<Value> given(inner.values.begin(), inner.values.begin() + arguments.positionalCount() - 1);
  size_t before = translator.graph->size();
  Value result =
      translator.callInSubgraph(*findLibrary(ArrayLibraryKind::Torch), operation, function, inner);
  PyObject* programs = callable.isTracker() ? callable.tracker()->existing() : callable.object();
  if (!result) return result;
  // The body has looked at them, and changed none.
  llvm::SmallPtrSet<const Node*, 4> passed;
  for (const Value& value : given) {
    Value known = translator.realized(value);
    if (auto* tensor = trackerOf<TensorVariable>(known)) passed.insert(tensor->node);
  }
  runProgramsFunction(translator, operation, programs, before, passed);
  return result;
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
