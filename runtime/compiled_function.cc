#include "runtime/compiled_function.h"

#include <structmember.h>

#include <cstddef>
#include <utility>

#include "codegen/graph_failure.h"
#include "core/constant.h"
#include "cpython/function_layout.h"
#include "runtime/argument_binding.h"
#include "runtime/codegen_environment.h"
#include "runtime/compiled_callable.h"
#include "runtime/failure.h"
#include "runtime/thread_state.h"

namespace armature {

namespace {

using cpython::FunctionField;

// The part of a CompiledFunction or ResumeFunction that is no Python object.
struct CompiledState {
  std::shared_ptr<const Settings> settings;  // null in a ResumeFunction: the cache has them
  std::shared_ptr<CodeCache> cache;          // null: the function is not one that can be traced
  Ref<> code;                                // that the cache is for
};

// All three callables. `function` is the user's, or for a resume function the one that goes on in
// plain Python (made when first needed).
struct CompiledObject {
  PyObject_HEAD vectorcallfunc vectorcall;
  PyObject* function;
  PyObject* dict;      // of a DisabledFunction
  PyObject* settings;  // of a CompiledFunction: the package's
  PyObject* weakReferences;
  CompiledState* state;  // null in a DisabledFunction
};

CompiledObject* compiled(PyObject* object) { return reinterpret_cast<CompiledObject*>(object); }

// A call's inputs and captures stand side by side: they are the generated function's arguments.
constexpr size_t kInlineSlots = 24;

// Runs the cache over bound inputs. `slots` has the entry's arguments; `plain` runs the function as
// it is.
template <class Plain>
PyObject* runCached(CodeCache& cache, llvm::SmallVectorImpl<PyObject*>& slots, Plain plain) {
  size_t count = slots.size();
  size_t inputCount = count - cache.entry().movesInputs;
  for (;;) {
    slots.resize(count + cache.captureCapacity() + 1);
    FrameLocalsMapping inputs{slots.data(), cache.inputIsCell(), inputCount};
    Ref<> function;
    size_t captureCount = 0;
    switch (cache.find(inputs, slots.data() + count, function, captureCount)) {
      case CodeCache::Action::Run: {
        // An input list may be empty when this returns; not so if it returns the marker, since the
        // graph is called first.
        PyObject* result =
            PyObject_Vectorcall(function.get(), slots.data(), count + captureCount, nullptr);
        // The marker, made on its first use, cannot be made while an exception is set.
        if (!result || result != graphFailure()) return result;
        Py_DECREF(result);
        if (std::unique_ptr<GraphFailure> failure = takeGraphFailure()) {
          return cache.goOn(inputs, *failure);
        }
        return plain();
      }
      case CodeCache::Action::Plain:
        return plain();
      case CodeCache::Action::Error:
        return nullptr;
      case CodeCache::Action::Compiled:
        continue;
    }
  }
}

// No parameters but plain ones: a call with one positional argument for each fits.
bool hasOnlyPositional(const Code& code) {
  return code.keywordOnlyCount == 0 && !code.hasVarPositional() && !code.hasVarKeyword();
}

// The inputs of a call: `slots` has one for each. False if the arguments do not fit, as
// bindArguments says.
bool bindCall(BorrowedRef<> function, const EntryPoint& entry, PyObject* const* arguments,
              size_t positionalCount, PyObject* keywordNames, PyObject** slots,
              BindingTemporaries& temporaries) {
  size_t bound = entry.code->boundCount();
  if (hasOnlyPositional(*entry.code) && !keywordNames && positionalCount == bound) {
    std::copy_n(arguments, bound, slots);
  } else if (!bindArguments(*entry.code, function, arguments, positionalCount, keywordNames, slots,
                            temporaries)) {
    return false;
  }
  if (PyObject* closure = cpython::read(function, FunctionField::Closure)) {
    for (size_t i = bound; i < entry.locals.size(); ++i) {
      slots[i] = PyTuple_GET_ITEM(closure, i - bound);
    }
  }
  return true;
}

// The inputs of a function from its start: the parameters, then the cells of its closure.
EntryPoint functionEntry(CodePtr code) {
  EntryPoint entry;
  int32_t bound = code->boundCount();
  for (int32_t i = 0; i < static_cast<int32_t>(code->locals.size()); ++i) {
    bool isFree = code->locals[i].kind == LocalKind::Free;
    if (i >= bound && !isFree) continue;
    entry.locals.push_back(i);
    entry.localIsCell.push_back(isFree);
  }
  entry.code = std::move(code);
  return entry;
}

bool hasItsCode(const CompiledObject* object) {
  return cpython::read(object->function, FunctionField::Code) == object->state->code.get();
}

// A cache for the code that the function has now, which may have been replaced. False with an
// exception set.
bool takeCode(CompiledObject* object) {
  BorrowedRef<> function = object->function;
  CompiledState& state = *object->state;
  Ref<> code = Ref<>::create(cpython::read(function, FunctionField::Code));
  std::shared_ptr<CodeCache> cache;
  try {
    CodePtr canonical = lift(reinterpret_cast<PyCodeObject*>(code.get()));
    if (!canonical) throw PendingPythonException();
    // Code that the program has put together may load anything.
    if (!canonical->isGenerator() && isConstant(code)) {
      auto family = std::make_shared<CodeCache::Family>();
      family->reserve(1);
      cache = std::make_shared<CodeCache>(
          functionEntry(std::move(canonical)),
          Ref<>::create(cpython::read(function, FunctionField::Globals)), state.settings, family);
      family->push_back(cache);
    }
  } catch (...) {
    std::string message;
    if (isForUser(message)) return false;
    reportFailure(state.settings->engine->hooks, code,
                  cpython::read(function, FunctionField::QualifiedName), message,
                  FailureKind::Error);
    if (PyErr_Occurred()) return false;
  }
  std::swap(state.cache, cache);
  std::swap(state.code, code);
  if (cache) CodeCache::dropFamily(cache);
  return true;
}

PyObject* callCompiledUnguarded(PyObject* self, PyObject* const* arguments, size_t flags,
                                PyObject* keywordNames) {
  CompiledObject* object = compiled(self);
  auto plain = [&] {
    return PyObject_Vectorcall(object->function, arguments, flags, keywordNames);
  };
  if (runsPlain() || isWatched(*object->state->settings->engine)) return plain();
  if (!hasItsCode(object) && !takeCode(object)) return nullptr;
  // The cache must outlive the call, even if the call resets it.
  std::shared_ptr<CodeCache> cache = object->state->cache;
  if (!cache) return plain();
  const EntryPoint& entry = cache->entry();
  size_t inputCount = entry.locals.size();
  llvm::SmallVector<PyObject*, kInlineSlots> slots(inputCount);
  BindingTemporaries temporaries;
  if (!bindCall(object->function, entry, arguments, PyVectorcall_NARGS(flags), keywordNames,
                slots.data(), temporaries)) {
    return PyErr_Occurred() ? nullptr : plain();
  }
  return runCached(*cache, slots, plain);
}

PyObject* callResumeUnguarded(PyObject* self, PyObject* const* arguments, size_t flags,
                              PyObject* keywordNames) {
  CompiledObject* object = compiled(self);
  std::shared_ptr<CodeCache> cache = object->state->cache;
  const EntryPoint& entry = cache->entry();
  size_t inputCount = entry.inputCount();
  size_t parameters = entry.movesInputs ? 1 : inputCount;
  if (keywordNames || PyVectorcall_NARGS(flags) != static_cast<Py_ssize_t>(parameters)) {
    PyErr_Format(PyExc_TypeError, "this resume function takes exactly %zu positional arguments",
                 parameters);
    return nullptr;
  }
  PyObject* list = entry.movesInputs ? arguments[0] : nullptr;
  if (list &&
      (!PyList_CheckExact(list) || PyList_GET_SIZE(list) != static_cast<Py_ssize_t>(inputCount))) {
    PyErr_Format(PyExc_TypeError, "this resume function takes a list of exactly %zu inputs",
                 inputCount);
    return nullptr;
  }
  auto plain = [&]() -> PyObject* {
    if (!object->function) {
      object->function = plainFunction(cache->entry(), cache->globals()).release();
      if (!object->function) return nullptr;
    }
    return PyObject_Vectorcall(object->function, arguments, parameters, nullptr);
  };
  if (runsPlain() || isWatched(*cache->settings()->engine)) return plain();
  PyObject* const* inputs = list ? PySequence_Fast_ITEMS(list) : arguments;
  llvm::SmallVector<PyObject*, kInlineSlots> slots(inputs, inputs + inputCount);
  if (list) slots.push_back(list);
  return runCached(*cache, slots, plain);
}

// A vectorcallfunc out of which no C++ exception comes.
template <vectorcallfunc function>
PyObject* guarded(PyObject* self, PyObject* const* arguments, size_t flags,
                  PyObject* keywordNames) {
  return forPython([&] { return function(self, arguments, flags, keywordNames); });
}

constexpr vectorcallfunc callCompiled = guarded<callCompiledUnguarded>;
constexpr vectorcallfunc callResume = guarded<callResumeUnguarded>;

PyObject* callDisabled(PyObject* self, PyObject* const* arguments, size_t flags,
                       PyObject* keywordNames) {
  PlainScope plain;
  return PyObject_Vectorcall(compiled(self)->function, arguments, flags, keywordNames);
}

// --- Attributes of a compiled function: its function's.

int isOneOf(PyObject* name, PyObject* names) { return names ? PySet_Contains(names, name) : -1; }

// A str set; null with an exception set.
PyObject* frozenSet(Ref<> names) { return names ? PyFrozenSet_New(names.get()) : nullptr; }

PyObject* getAttribute(PyObject* self, PyObject* name) {
  static PyObject* const own =
      frozenSet(Ref<>::steal(Py_BuildValue("(ssssss)", "__call__", "__class__", "__get__",
                                           "__wrapped__", "function", "_armature_settings")));
  int isOwn = isOneOf(name, own);
  if (isOwn != 0) return isOwn < 0 ? nullptr : PyObject_GenericGetAttr(self, name);
  return PyObject_GetAttr(compiled(self)->function, name);
}

int setAttribute(PyObject* self, PyObject* name, PyObject* value) {
  static PyObject* const own =
      frozenSet(Ref<>::steal(Py_BuildValue("(ss)", "function", "_armature_settings")));
  int isOwn = isOneOf(name, own);
  if (isOwn != 0) return isOwn < 0 ? -1 : PyObject_GenericSetAttr(self, name, value);
  return PyObject_SetAttr(compiled(self)->function, name, value);
}

PyObject* getClass(PyObject* self, void*) {
  return PyObject_GetAttrString(compiled(self)->function, "__class__");
}

// --- The Python types.

// Null with an exception set.
Ref<> makeCompiled(PyTypeObject* type, BorrowedRef<> function,
                   std::shared_ptr<const Settings> settings, BorrowedRef<> packageSettings) {
  if (!PyFunction_Check(function.get())) {
    PyErr_Format(PyExc_TypeError, "CompiledFunction() takes a Python function, not '%.200s'",
                 Py_TYPE(function.get())->tp_name);
    return nullptr;
  }
  Ref<> self = Ref<>::steal(type->tp_alloc(type, 0));
  if (!self) return nullptr;
  CompiledObject* object = compiled(self.get());
  object->vectorcall = callCompiled;
  object->function = Py_NewRef(function.get());
  object->settings = Py_NewRef(packageSettings.get());
  object->state = new CompiledState;
  object->state->settings = std::move(settings);
  return takeCode(object) ? self : nullptr;
}

PyObject* newCompiled(PyTypeObject* type, PyObject* arguments, PyObject* keywords) {
  static const char* names[] = {"function",        "backend",  "fullgraph",
                                "recompile_limit", "settings", nullptr};
  PyObject* function;
  PyObject *backend = Py_None, *packageSettings = Py_None;
  int fullGraph = 0, limit = 8;
  if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "O|OpiO:CompiledFunction",
                                   const_cast<char**>(names), &function, &backend, &fullGraph,
                                   &limit, &packageSettings)) {
    return nullptr;
  }
  if (backend != Py_None && !PyCallable_Check(backend)) {
    PyErr_Format(PyExc_TypeError,
                 "CompiledFunction() takes a backend that can be called with (GraphModule, example "
                 "inputs), or None for the eager one, not '%.200s'",
                 Py_TYPE(backend)->tp_name);
    return nullptr;
  }
  if (limit < 0) {
    PyErr_Format(PyExc_ValueError,
                 "CompiledFunction() takes a recompile_limit of 0 (never compile) or more, not %d",
                 limit);
    return nullptr;
  }
  auto settings = std::make_shared<Settings>();
  if (backend != Py_None) settings->backend = Ref<>::create(backend);
  settings->fullGraph = fullGraph;
  settings->recompileLimit = limit;
  return makeCompiled(type, function, std::move(settings), packageSettings).release();
}

PyObject* newDisabled(PyTypeObject* type, PyObject* arguments, PyObject* keywords) {
  static const char* names[] = {"function", nullptr};
  PyObject* function;
  if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "O:DisabledFunction",
                                   const_cast<char**>(names), &function)) {
    return nullptr;
  }
  if (!PyCallable_Check(function)) {
    PyErr_Format(PyExc_TypeError, "DisabledFunction() takes a callable, not '%.200s'",
                 Py_TYPE(function)->tp_name);
    return nullptr;
  }
  Ref<> self = Ref<>::steal(type->tp_alloc(type, 0));
  if (!self) return nullptr;
  compiled(self.get())->vectorcall = callDisabled;
  compiled(self.get())->function = Py_NewRef(function);
  return self.release();
}

int traverse(PyObject* self, visitproc visit, void* arg) {
  CompiledObject* object = compiled(self);
  Py_VISIT(object->function);
  Py_VISIT(object->dict);
  Py_VISIT(object->settings);
  // What the caches of a function hold is the function's; its resume functions only borrow it.
  if (Py_TYPE(self) != &CompiledFunctionType || !object->state) return 0;
  Py_VISIT(object->state->settings->backend.get());
  if (!object->state->cache) return 0;
  for (const std::shared_ptr<CodeCache>& cache : object->state->cache->family()) {
    if (int stop = cache->traverse(visit, arg)) return stop;
  }
  return 0;
}

// The function stays: while the object lives, it can be called, by a finalizer say. A cycle through
// the function is broken there, or where its attributes and globals are.
int clearReferences(PyObject* self) {
  CompiledObject* object = compiled(self);
  Py_CLEAR(object->dict);
  Py_CLEAR(object->settings);
  if (Py_TYPE(self) == &CompiledFunctionType && object->state && object->state->cache) {
    CodeCache::clear(object->state->cache->family());
  }
  return 0;
}

void deallocate(PyObject* self) {
  PyObject_GC_UnTrack(self);
  CompiledObject* object = compiled(self);
  if (object->weakReferences) PyObject_ClearWeakRefs(self);
  std::unique_ptr<CompiledState> state(std::exchange(object->state, nullptr));
  // A function's family of caches refers to itself; the function's end is theirs.
  if (state && state->cache && Py_TYPE(self) == &CompiledFunctionType) {
    CodeCache::dropFamily(state->cache);
  }
  state.reset();
  Py_CLEAR(object->dict);
  Py_CLEAR(object->settings);
  Py_CLEAR(object->function);
  Py_TYPE(self)->tp_free(self);
}

PyObject* bind(PyObject* self, PyObject* instance, PyObject*) {
  if (!instance || instance == Py_None) return Py_NewRef(self);
  return PyMethod_New(self, instance);
}

PyObject* represent(PyObject* self) {
  CompiledObject* object = compiled(self);
  if (Py_TYPE(self) == &CompiledFunctionType) {
    return PyUnicode_FromFormat("<compiled %R>", object->function);
  }
  if (Py_TYPE(self) == &DisabledFunctionType) {
    return PyUnicode_FromFormat("<disabled %R>", object->function);
  }
  const EntryPoint& entry = object->state->cache->entry();
  return PyUnicode_FromFormat("<resume function of %U at instruction %d>",
                              entry.code->qualifiedName.get(), entry.start);
}

PyMemberDef members[] = {
    {"function", T_OBJECT, offsetof(CompiledObject, function), READONLY,
     "The function that this one stands for."},
    {},
};

PyMemberDef compiledMembers[] = {
    {"function", T_OBJECT, offsetof(CompiledObject, function), READONLY,
     "The function that this one stands for."},
    {"__wrapped__", T_OBJECT, offsetof(CompiledObject, function), READONLY, "The same."},
    {"_armature_settings", T_OBJECT, offsetof(CompiledObject, settings), READONLY,
     "What compile() was asked for."},
    {},
};

PyGetSetDef compiledProperties[] = {
    {"__class__", getClass, nullptr, nullptr, nullptr},
    {},
};

PyGetSetDef properties[] = {
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, nullptr, nullptr},
    {},
};

// What the types of this file have in common.
PyTypeObject typeOfObjects(const char* name, const char* doc) {
  return {
      .ob_base = PyVarObject_HEAD_INIT(nullptr, 0).tp_name = name,
      .tp_basicsize = sizeof(CompiledObject),
      .tp_dealloc = deallocate,
      .tp_vectorcall_offset = offsetof(CompiledObject, vectorcall),
      .tp_repr = represent,
      .tp_call = PyVectorcall_Call,
      .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL,
      .tp_doc = doc,
      .tp_traverse = traverse,
      .tp_clear = clearReferences,
  };
}

// Those that stand for a function of the program.
PyTypeObject typeOfFunctions(const char* name, const char* doc) {
  PyTypeObject type = typeOfObjects(name, doc);
  type.tp_flags |= Py_TPFLAGS_METHOD_DESCRIPTOR;
  type.tp_weaklistoffset = offsetof(CompiledObject, weakReferences);
  type.tp_descr_get = bind;
  return type;
}

}  // namespace

PyTypeObject CompiledFunctionType = [] {
  PyTypeObject type = typeOfFunctions("armature._C.CompiledFunction",
                                      "CompiledFunction(function, backend=None, fullgraph=False, "
                                      "recompile_limit=8, settings=None)\n"
                                      "--\n\n"
                                      "A function that is captured when it is called.");
  type.tp_getattro = getAttribute;
  type.tp_setattro = setAttribute;
  type.tp_members = compiledMembers;
  type.tp_getset = compiledProperties;
  type.tp_new = newCompiled;
  return type;
}();

PyTypeObject DisabledFunctionType = [] {
  PyTypeObject type = typeOfFunctions(
      "armature._C.DisabledFunction",
      "DisabledFunction(function)\n--\n\n"
      "A function that is never captured, nor any compiled function that it calls.");
  type.tp_members = members;
  type.tp_getset = properties;
  type.tp_dictoffset = offsetof(CompiledObject, dict);
  type.tp_new = newDisabled;
  return type;
}();

PyTypeObject ResumeFunctionType = [] {
  PyTypeObject type =
      typeOfObjects("armature._C.ResumeFunction", "What goes on after a graph break.");
  type.tp_flags |= Py_TPFLAGS_DISALLOW_INSTANTIATION;
  return type;
}();

Ref<> makeCompiledFunction(BorrowedRef<> function, std::shared_ptr<const Settings> settings) {
  return makeCompiled(&CompiledFunctionType, function, std::move(settings), Py_None);
}

Ref<> makeResumeFunction(std::shared_ptr<CodeCache> cache) {
  auto self = Ref<>::steal(ResumeFunctionType.tp_alloc(&ResumeFunctionType, 0));
  if (!self) return self;
  CompiledObject* object = compiled(self.get());
  object->vectorcall = callResume;
  object->state = new CompiledState;
  object->state->cache = std::move(cache);
  return self;
}

std::optional<CodeCache::Family> familyOf(PyObject* object) {
  CodeCache::Family family;
  auto add = [&](PyObject* function) {
    if (const std::shared_ptr<CodeCache>& cache = compiled(function)->state->cache) {
      family.insert(family.end(), cache->family().begin(), cache->family().end());
    }
  };
  if (Py_TYPE(object) == &CompiledFunctionType || Py_TYPE(object) == &ResumeFunctionType) {
    add(object);
  } else if (Py_TYPE(object) == &CompiledCallableType) {
    PyObject *function, *call;
    for (Py_ssize_t i = 0; PyDict_Next(callsOf(object), &i, &function, &call);) {
      if (Py_TYPE(call) == &CompiledFunctionType) add(call);
    }
  } else {
    PyErr_Format(PyExc_TypeError, "expected a compiled function, not '%.200s'",
                 Py_TYPE(object)->tp_name);
    return std::nullopt;
  }
  return family;
}

namespace {

// The cache of a CompiledFunction, and the inputs that a call of it has: 1; 0 if its code cannot be
// traced, or takes no such arguments; -1 with an exception set.
int prepareCall(PyObject* compiledFunction, PyObject* const* arguments, size_t positionalCount,
                PyObject* keywordNames, std::shared_ptr<CodeCache>& cache,
                llvm::SmallVectorImpl<PyObject*>& slots, BindingTemporaries& temporaries) {
  if (Py_TYPE(compiledFunction) != &CompiledFunctionType) {
    PyErr_Format(PyExc_TypeError, "expected a compiled function, not '%.200s'",
                 Py_TYPE(compiledFunction)->tp_name);
    return -1;
  }
  CompiledObject* object = compiled(compiledFunction);
  if (!hasItsCode(object) && !takeCode(object)) return -1;
  cache = object->state->cache;
  if (!cache) return 0;
  const EntryPoint& entry = cache->entry();
  slots.resize(entry.locals.size());
  bool fits = bindCall(object->function, entry, arguments, positionalCount, keywordNames,
                       slots.data(), temporaries);
  return fits ? 1 : PyErr_Occurred() ? -1 : 0;
}

}  // namespace

int acceptsCall(PyObject* compiledFunction, PyObject* const* arguments, size_t positionalCount,
                PyObject* keywordNames) {
  std::shared_ptr<CodeCache> cache;
  llvm::SmallVector<PyObject*, kInlineSlots> slots;
  BindingTemporaries temporaries;
  int prepared = prepareCall(compiledFunction, arguments, positionalCount, keywordNames, cache,
                             slots, temporaries);
  if (prepared <= 0) return prepared;
  return cache->accepts({slots.data(), cache->inputIsCell(), slots.size()});
}

int translateCall(PyObject* compiledFunction, PyObject* const* arguments, size_t positionalCount,
                  PyObject* keywordNames, llvm::function_ref<void(const CacheEntry&)> visit) {
  std::shared_ptr<CodeCache> cache;
  llvm::SmallVector<PyObject*, kInlineSlots> slots;
  BindingTemporaries temporaries;
  int prepared = prepareCall(compiledFunction, arguments, positionalCount, keywordNames, cache,
                             slots, temporaries);
  if (prepared == 0 && cache) {
    PyErr_Format(PyExc_TypeError, "%U() takes no such arguments", cache->entry().code->name.get());
    return -1;
  }
  if (prepared <= 0) return prepared;
  size_t inputCount = slots.size();
  for (;;) {
    slots.resize(inputCount + cache->captureCapacity() + 1);
    FrameLocalsMapping inputs{slots.data(), cache->inputIsCell(), inputCount};
    Ref<> function;
    size_t captureCount = 0;
    switch (cache->find(inputs, slots.data() + inputCount, function, captureCount)) {
      case CodeCache::Action::Run:
      case CodeCache::Action::Plain:
        return cache->visitEntry(inputs, visit);
      case CodeCache::Action::Error:
        return -1;
      case CodeCache::Action::Compiled:
        continue;
    }
  }
}

PyObject* wrappedFunction(PyObject* object) { return compiled(object)->function; }

int addCompiledFunctionTypes(PyObject* module) {
  if (PyType_Ready(&ResumeFunctionType) < 0 || addCompiledCallableType(module) < 0) return -1;
  return PyModule_AddType(module, &CompiledFunctionType) < 0 ||
                 PyModule_AddType(module, &DisabledFunctionType) < 0
             ? -1
             : 0;
}

}  // namespace armature
