#include "libraries/torch/nn_module.h"

#include "core/checked.h"
#include "core/pending_python_exception.h"
#include "cpython/function_layout.h"
#include "cpython/type_lookup.h"
#include "variables/containers/dict.h"
#include "variables/functions/functions.h"
#include "variables/lazy.h"
#include "variables/objects/user_defined.h"
#include "variables/protocol/object_protocol.h"

namespace armature {

namespace {

// What this file stands for, as torch made it.
struct ModuleClass {
  PyObject* getattr = nullptr;
  PyObject* call = nullptr;      // __call__
  PyObject* callImpl = nullptr;  // what __call__ calls
  PyObject* globals = nullptr;   // what its module has
};

PyObject* itemNamed(PyObject* dict, const char* name) {
  PyObject* value = dict ? PyDict_GetItemString(dict, name) : nullptr;
  clearException();
  Py_XINCREF(value);  // for the life of the process, as torch itself
  return value;
}

// The function if it is defined in Module's own file: a program can replace what a class has.
PyObject* ownFunction(PyObject* typeDict, const char* name) {
  PyObject* function = itemNamed(typeDict, name);
  if (!function || !PyFunction_Check(function)) return nullptr;
  bool isOwn = TorchModule::modules().definedIn(function) == "torch.nn.modules.module";
  return isOwn ? function : nullptr;
}

const ModuleClass& moduleClass() {
  static const ModuleClass& found = *[] {
    auto* stock = new ModuleClass;
    PyObject* dict = TorchModule::modules().dictOf("torch.nn.modules.module");
    PyObject* type = itemNamed(dict, "Module");
    if (!type || !PyType_Check(type)) return stock;
    stock->globals = dict;
    PyObject* typeDict = cpython::dict(reinterpret_cast<PyTypeObject*>(type));
    stock->getattr = ownFunction(typeDict, "__getattr__");
    stock->call = ownFunction(typeDict, "__call__");
    stock->callImpl = ownFunction(typeDict, "_call_impl");
    return stock;
  }();
  return found;
}

PyObject* interned(const char* name) { return staticName(name); }

Value callPlainly(Translator& translator, const Value& callable, CallArguments& arguments) {
  return translator.callUserFunction(requireKind<UserFunctionVariable>(callable), arguments);
}

// The instance that a method is called with, if it is one that can be looked into.
UserObjectVariable* instanceIn(Translator& translator, CallArguments& arguments) {
  if (arguments.positionalCount() == 0) return nullptr;
  translator.realize(arguments.values[0]);
  return trackerOf<UserObjectVariable>(arguments.values[0]);
}

// Module.__getattr__(self, name): finds it in _parameters, _buffers or _modules.
Value callGetattr(Translator& translator, const Value& callable, CallArguments& arguments) {
  static PyObject* const kTables[] = {interned("_parameters"), interned("_buffers"),
                                      interned("_modules")};
  UserObjectVariable* module = instanceIn(translator, arguments);
  bool isPlain = module && arguments.positionalCount() == 2 && !arguments.keywordCount();
  PyObject* name = isPlain ? translator.realized(arguments.values[1]).objectOrNull() : nullptr;
  DictVariable* dict = name && PyUnicode_CheckExact(name)
                           ? slotsOf(module).instanceDict(translator, module)
                           : nullptr;
  if (!dict) return callPlainly(translator, callable, arguments);
  for (PyObject* table : kTables) {
    Value entries = translator.realized(dict->get(translator, table));
    if (!entries && !translator.exceptionPending()) continue;
    auto* values = trackerOf<DictVariable>(entries);
    // What else a program has put there has methods of its own.
    if (!values || values->type() != &PyDict_Type) {
      return callPlainly(translator, callable, arguments);
    }
    // An array is an input from its first load on, which is the order of TorchDynamo's inputs.
    if (Value value = values->get(translator, name)) return translator.realized(value);
    if (translator.exceptionPending()) return Value();
  }
  return translator.raise(PyExc_AttributeError, "'%.200s' object has no attribute '%U'",
                          cpython::nameOf(module->type()), name);
}

// True if the dict of hooks is empty; guarded then.
bool isEmpty(Translator& translator, const Value& hooks) {
  // Looked at without becoming a variable: an empty dict that the trace has not touched, here or
  // elsewhere. That it is none of those that the trace writes, addFinalGuards() guards.
  auto* lazy = trackerOf<LazyVariable>(hooks);
  if (lazy && !lazy->realized && PyDict_Check(lazy->existing()) &&
      PyDict_GET_SIZE(lazy->existing()) == 0 && !translator.known(lazy->existing())) {
    translator.addGuard(lazy->source(), GuardType::EMPTY_NN_MODULE_HOOKS_DICT);
    return true;
  }
  auto* table = trackerOf<DictVariable>(translator.realized(hooks));
  return table && table->size(translator) == 0;
}

// True if the dicts of hooks by these names among the globals of torch's module are empty; guarded
// then. Once the program has come to them, they are what the trace has made of them.
bool hasNoGlobalHooks(Translator& translator, PyObject* globals, llvm::ArrayRef<PyObject*> names) {
  bool isKnown = static_cast<bool>(translator.known(globals));
  for (PyObject* name : names) {
    PyObject* hooks = PyDict_GetItemWithError(globals, name);
    if (!hooks) {
      clearException();
      return false;
    }
    isKnown |= static_cast<bool>(translator.known(hooks));
  }
  if (!isKnown) {
    const Source* source = translator.sources->globalsDict(globals, false);
    return translator.heap.hasNoHooks(source, globals, names);
  }
  DictVariable* dict = translator.moduleDict(globals);
  return llvm::all_of(names, [&](PyObject* name) {
    Value hooks = dict->get(translator, name);
    return hooks && isEmpty(translator, hooks);
  });
}

// Whether calling the module is calling its forward: neither it nor the process has hooks, nothing
// is recorded by torch.jit.trace. Guards the answer when it is yes.
bool callsForwardDirectly(Translator& translator, UserObjectVariable* module) {
  static PyObject* const compiled = interned("_compiled_call_impl");
  static PyObject* const callImpl = interned("_call_impl");
  static PyObject* const kHooks[] = {interned("_forward_hooks"), interned("_forward_pre_hooks"),
                                     interned("_backward_hooks"), interned("_backward_pre_hooks")};
  static PyObject* const kGlobalHooks[] = {
      interned("_global_forward_hooks"), interned("_global_forward_pre_hooks"),
      interned("_global_backward_hooks"), interned("_global_backward_pre_hooks")};
  const ModuleClass& stock = moduleClass();
  bool isStock =
      stock.globals && stock.callImpl && !TorchModule::modules().isForeign(stock.callImpl);
  if (!isStock) return false;
  if (!hasNoGlobalHooks(translator, stock.globals, kGlobalHooks)) return false;
  DictVariable* dict = slotsOf(module).instanceDict(translator, module);
  if (!dict) return false;
  // Module.compile() makes __call__ go elsewhere; the class attribute is None.
  if (dict->has(translator, Value::constant(compiled)) ||
      dict->has(translator, Value::constant(callImpl))) {
    return false;
  }
  if (translator.heap.lookup(module->type(), callImpl).object != stock.callImpl ||
      translator.heap.lookup(module->type(), compiled).object != Py_None) {
    return false;
  }
  for (PyObject* name : kHooks) {
    if (!isEmpty(translator, dict->get(translator, name))) return false;
  }
  return true;
}

// Module.__call__(self, *args, **kwargs).
Value callModule(Translator& translator, const Value& callable, CallArguments& arguments) {
  static PyObject* const forward = interned("forward");
  UserObjectVariable* module = instanceIn(translator, arguments);
  if (!module || !callsForwardDirectly(translator, module)) {
    return callPlainly(translator, callable, arguments);
  }
  Value self = arguments.values[0];
  arguments.values.erase(arguments.values.begin());
  Value function;
  if (loadMethod(translator, self, forward, function)) {
    arguments.values.insert(arguments.values.begin(), self);
  }
  if (!function) return function;
  return call(translator, function, arguments);
}

}  // namespace

LibraryCallHandler findModuleHandler(BorrowedRef<> function) {
  const ModuleClass& stock = moduleClass();
  if (function.get() == stock.getattr) return callGetattr;
  bool isCall = function.get() == stock.call && stock.callImpl;
  return isCall ? callModule : nullptr;
}

}  // namespace armature
