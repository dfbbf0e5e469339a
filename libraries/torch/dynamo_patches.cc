#include "libraries/torch/dynamo_patches.h"

#include "cpython/function_layout.h"
#include "cpython/instance_attributes.h"
#include "cpython/type_lookup.h"
#include "libraries/torch/torch_module.h"
#include "variables/functions/functions.h"
#include "variables/protocol/object_protocol.h"

namespace armature {

namespace {

constexpr const char* kModule = "torch._dynamo.mutation_guard";

// The code of a function that is defined inside of another, or null.
PyObject* innerCode(PyObject* function, const char* inner) {
  if (!function || !PyFunction_Check(function)) return nullptr;
  PyCodeObject* code = cpython::codeOf(function);
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(code->co_consts); ++i) {
    PyObject* constant = PyTuple_GET_ITEM(code->co_consts, i);
    if (!PyCode_Check(constant)) continue;
    if (stringView(reinterpret_cast<PyCodeObject*>(constant)->co_name) == inner) return constant;
  }
  return nullptr;
}

// Calls what the free variable `name` of the function holds.
Value callFreeVariable(Translator& translator, const Value& callable, const char* name,
                       CallArguments& arguments) {
  auto* function = requireKind<UserFunctionVariable>(callable);
  PyCodeObject* code = cpython::codeOf(function->existing());
  Ref<> names = Ref<>::steal(PyCode_GetFreevars(code));
  size_t count = names ? PyTuple_GET_SIZE(names.get()) : 0;
  for (size_t i = 0; i < count && i < function->closure.size(); ++i) {
    if (stringView(PyTuple_GET_ITEM(names.get(), i)) != name) continue;
    if (Value replaced = function->closure[i]->contents()) {
      return call(translator, replaced, arguments);
    }
  }
  throw GraphBreak(GraphBreakKind::ReplacedByDynamo, describe(callable));
}

// It notes that the module is of this generation of TorchDynamo's graphs, which matters to those
// only; TorchDynamo's own traces leave it out likewise.
Value callPatchedInit(Translator& translator, const Value& callable, CallArguments& arguments) {
  return callFreeVariable(translator, callable, "init", arguments);
}

Value callPatchedSetstate(Translator& translator, const Value& callable, CallArguments& arguments) {
  return callFreeVariable(translator, callable, "setstate", arguments);
}

// The dict of the modules that TorchDynamo watches, by their addresses. Borrowed; null if it is not
// where we look.
PyObject* watchedModules() {
  PyObject* dict = TorchModule::modules().dictOf(kModule);
  PyObject* tracker = dict ? PyDict_GetItemString(dict, "MutationTracker") : nullptr;
  PyObject* known = tracker && PyType_Check(tracker)
                        ? cpython::ownAttribute(reinterpret_cast<PyTypeObject*>(tracker), "db")
                        : nullptr;
  PyObject* attributes = known ? cpython::materializedInstanceDict(known) : nullptr;
  PyObject* values = attributes ? PyDict_GetItemString(attributes, "values") : nullptr;
  return values && PyDict_CheckExact(values) ? values : nullptr;
}

// It tells TorchDynamo of changes of modules that it watches: while there are none, it only calls
// what it replaced.
Value callPatchedSetattr(Translator& translator, const Value& callable, CallArguments& arguments) {
  PyObject* watched = watchedModules();
  if (!watched || PyDict_GET_SIZE(watched) != 0) {
    throw GraphBreak(GraphBreakKind::WatchedByDynamo, describe(callable));
  }
  translator.addGuard(translator.sources->globalsDict(watched, false),
                      GuardType::EMPTY_NN_MODULE_HOOKS_DICT);
  return callFreeVariable(translator, callable, "original_setattr", arguments);
}

// What torch.compile makes of a function is, inside of a graph, the function.
Value callCompiled(Translator& translator, const Value& callable, CallArguments& arguments) {
  return callFreeVariable(translator, callable, "fn", arguments);
}

// Is it a function of torch.compile's?
bool isCompileWrapper(PyObject* globals, PyObject* code) {
  if (TorchModule::modules().moduleOf(globals) != "torch._dynamo.eval_frame") return false;
  PyObject* context = PyDict_GetItemString(globals, "_TorchDynamoContext");
  PyObject* call = context && PyType_Check(context)
                       ? cpython::ownAttribute(reinterpret_cast<PyTypeObject*>(context), "__call__")
                       : nullptr;
  return innerCode(call, "compile_wrapper") == code;
}

}  // namespace

LibraryCallHandler findDynamoPatchHandler(BorrowedRef<> function) {
  PyObject* globals = cpython::read(function, cpython::FunctionField::Globals);
  auto* code = reinterpret_cast<PyObject*>(cpython::codeOf(function));
  if (isCompileWrapper(globals, code)) return callCompiled;
  if (TorchModule::modules().moduleOf(globals) != kModule) return nullptr;
  struct Patch {
    const char* outer;
    const char* inner;
    LibraryCallHandler handler;
  };
  for (const Patch& patch :
       {Patch{"install_generation_tagging_init", "patched_init", callPatchedInit},
        Patch{"install_generation_tagging_init", "patched_setstate", callPatchedSetstate},
        Patch{"ensure_patched", "custom_setattr", callPatchedSetattr}}) {
    if (innerCode(PyDict_GetItemString(globals, patch.outer), patch.inner) == code) {
      return patch.handler;
    }
  }
  return nullptr;
}

}  // namespace armature
