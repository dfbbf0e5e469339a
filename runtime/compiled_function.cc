#include "runtime/compiled_function.h"

#include <structmember.h>

#include <cstddef>

#include "codegen/graph_failure.h"
#include "cpython/function_layout.h"
#include "runtime/argument_binding.h"

namespace armature {

namespace {

// All three callables. `function` is the user's, or for a resume function the one that goes on in
// plain Python (made when first needed).
struct CompiledObject {
  PyObject_HEAD vectorcallfunc vectorcall;
  PyObject* function;
  PyObject* dict;
  PyObject* weakReferences;
  std::shared_ptr<CodeCache>* cache;  // null: the function is not one that can be traced
  bool* isCell;                       // one for each input
  bool isSimple;                      // all parameters are plain positional ones
};

CompiledObject* compiled(PyObject* object) { return reinterpret_cast<CompiledObject*>(object); }

// A call's inputs and captures stand side by side: they are the generated function's arguments.
constexpr size_t kInlineSlots = 24;

// Runs the cache over bound inputs. `slots` has room for inputs and `capacity` captures; `plain`
// runs the function as it is. The last argument keeps what binding made alive.
template <class Plain>
PyObject* runCached(CodeCache& cache, llvm::SmallVectorImpl<PyObject*>& slots, size_t inputCount,
                    const bool* isCell, Plain plain) {
  for (;;) {
    slots.resize(inputCount + cache.captureCapacity() + 1);
    FrameLocalsMapping inputs{slots.data(), isCell, inputCount};
    Ref<> function;
    size_t captureCount = 0;
    switch (cache.find(inputs, slots.data() + inputCount, function, captureCount)) {
      case CodeCache::Action::Run: {
        PyObject* result =
            PyObject_Vectorcall(function.get(), slots.data(), inputCount + captureCount, nullptr);
        if (result != graphFailure()) return result;
        Py_DECREF(result);
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

// The inputs of a call: `slots` has one for each. False if the arguments do not fit, as
// bindArguments says.
bool bindCall(CompiledObject* object, const EntryPoint& entry, PyObject* const* arguments,
              size_t positionalCount, PyObject* keywordNames, PyObject** slots,
              BindingTemporaries& temporaries) {
  PyObject* function = object->function;
  size_t bound = entry.code->boundCount();
  if (object->isSimple && !keywordNames && positionalCount == bound) {
    std::copy_n(arguments, bound, slots);
  } else if (!bindArguments(*entry.code, function, arguments, positionalCount, keywordNames, slots,
                            temporaries)) {
    return false;
  }
  if (PyObject* closure = cpython::read(function, cpython::FunctionField::Closure)) {
    for (size_t i = bound; i < entry.locals.size(); ++i) {
      slots[i] = PyTuple_GET_ITEM(closure, i - bound);
    }
  }
  return true;
}

PyObject* callCompiled(PyObject* self, PyObject* const* arguments, size_t flags,
                       PyObject* keywordNames) {
  CompiledObject* object = compiled(self);
  auto plain = [&] {
    return PyObject_Vectorcall(object->function, arguments, flags, keywordNames);
  };
  if (!object->cache || runsPlain()) return plain();
  // The cache must outlive the call, even if the call resets it.
  std::shared_ptr<CodeCache> cache = *object->cache;
  const EntryPoint& entry = cache->entry();
  size_t inputCount = entry.locals.size();
  llvm::SmallVector<PyObject*, kInlineSlots> slots(inputCount);
  BindingTemporaries temporaries;
  if (!bindCall(object, entry, arguments, PyVectorcall_NARGS(flags), keywordNames, slots.data(),
                temporaries)) {
    return PyErr_Occurred() ? nullptr : plain();
  }
  return runCached(*cache, slots, inputCount, object->isCell, plain);
}

PyObject* callResume(PyObject* self, PyObject* const* arguments, size_t flags,
                     PyObject* keywordNames) {
  CompiledObject* object = compiled(self);
  std::shared_ptr<CodeCache> cache = *object->cache;
  size_t inputCount = cache->entry().inputCount();
  if (keywordNames || PyVectorcall_NARGS(flags) != static_cast<Py_ssize_t>(inputCount)) {
    PyErr_Format(PyExc_TypeError, "this resume function takes exactly %zu positional arguments",
                 inputCount);
    return nullptr;
  }
  auto plain = [&]() -> PyObject* {
    if (!object->function) {
      object->function = plainFunction(cache->entry(), cache->globals()).release();
      if (!object->function) return nullptr;
    }
    return PyObject_Vectorcall(object->function, arguments, inputCount, nullptr);
  };
  if (runsPlain()) return plain();
  llvm::SmallVector<PyObject*, kInlineSlots> slots(arguments, arguments + inputCount);
  return runCached(*cache, slots, inputCount, object->isCell, plain);
}

PyObject* callDisabled(PyObject* self, PyObject* const* arguments, size_t flags,
                       PyObject* keywordNames) {
  PlainScope plain;
  return PyObject_Vectorcall(compiled(self)->function, arguments, flags, keywordNames);
}

// --- The Python types.

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

void setInputs(CompiledObject* object, const EntryPoint& entry) {
  size_t count = entry.inputCount();
  object->isCell = new bool[count + 1]();
  size_t first = count - entry.locals.size();
  for (size_t i = 0; i < entry.locals.size(); ++i) {
    object->isCell[first + i] = entry.localIsCell[i];
  }
}

PyObject* newCompiled(PyTypeObject* type, PyObject* arguments, PyObject* keywords) {
  static const char* names[] = {"function", "backend", "fullgraph", "recompile_limit", nullptr};
  PyObject* function;
  PyObject* backend = Py_None;
  int fullGraph = 0, limit = 8;
  if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "O|Opi:CompiledFunction",
                                   const_cast<char**>(names), &function, &backend, &fullGraph,
                                   &limit)) {
    return nullptr;
  }
  if (!PyFunction_Check(function)) {
    PyErr_Format(PyExc_TypeError, "CompiledFunction() takes a Python function, not '%.200s'",
                 Py_TYPE(function)->tp_name);
    return nullptr;
  }
  auto* code = reinterpret_cast<PyCodeObject*>(PyFunction_GET_CODE(function));
  CodePtr canonical = lift(code);
  if (!canonical) return nullptr;
  auto settings = std::make_shared<Settings>();
  if (backend != Py_None) settings->backend = Ref<>::create(backend);
  settings->fullGraph = fullGraph;
  settings->recompileLimit = limit;

  Ref<> self = Ref<>::steal(type->tp_alloc(type, 0));
  if (!self) return nullptr;
  CompiledObject* object = compiled(self.get());
  object->vectorcall = callCompiled;
  object->function = Py_NewRef(function);
  object->isSimple = canonical->keywordOnlyCount == 0 && !canonical->hasVarPositional() &&
                     !canonical->hasVarKeyword();
  if (!canonical->isGenerator()) {
    auto family = std::make_shared<std::vector<std::shared_ptr<CodeCache>>>();
    EntryPoint entry = functionEntry(std::move(canonical));
    setInputs(object, entry);
    auto cache = std::make_shared<CodeCache>(std::move(entry),
                                             Ref<>::create(PyFunction_GET_GLOBALS(function)),
                                             std::move(settings), family);
    family->push_back(cache);
    object->cache = new std::shared_ptr<CodeCache>(std::move(cache));
  }
  return self.release();
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
  return 0;
}

int clearReferences(PyObject* self) {
  CompiledObject* object = compiled(self);
  Py_CLEAR(object->function);
  Py_CLEAR(object->dict);
  return 0;
}

void deallocate(PyObject* self) {
  PyObject_GC_UnTrack(self);
  CompiledObject* object = compiled(self);
  if (object->weakReferences) PyObject_ClearWeakRefs(self);
  // A function's family of caches refers to itself; the function's end is theirs.
  if (object->cache && Py_TYPE(self) == &CompiledFunctionType) {
    CodeCache& root = **object->cache;
    for (const std::shared_ptr<CodeCache>& cache : root.family()) cache->clear();
    root.dropFamily();
  }
  clearReferences(self);
  delete object->cache;
  delete[] object->isCell;
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
  const EntryPoint& entry = (*object->cache)->entry();
  return PyUnicode_FromFormat("<resume function of %U at instruction %d>",
                              entry.code->qualifiedName.get(), entry.start);
}

PyMemberDef members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(CompiledObject, vectorcall), READONLY, nullptr},
    {"function", T_OBJECT, offsetof(CompiledObject, function), READONLY,
     "The function that this one stands for."},
    {},
};

PyGetSetDef properties[] = {
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, nullptr, nullptr},
    {},
};

}  // namespace

PyTypeObject CompiledFunctionType = {
    .ob_base = PyVarObject_HEAD_INIT(nullptr, 0).tp_name = "armature._C.CompiledFunction",
    .tp_basicsize = sizeof(CompiledObject),
    .tp_dealloc = deallocate,
    .tp_vectorcall_offset = offsetof(CompiledObject, vectorcall),
    .tp_repr = represent,
    .tp_call = PyVectorcall_Call,
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL |
                Py_TPFLAGS_METHOD_DESCRIPTOR,
    .tp_doc =
        "CompiledFunction(function, backend=None, fullgraph=False, recompile_limit=8)\n--\n\n"
        "A function that is captured when it is called.",
    .tp_traverse = traverse,
    .tp_clear = clearReferences,
    .tp_weaklistoffset = offsetof(CompiledObject, weakReferences),
    .tp_members = members,
    .tp_getset = properties,
    .tp_descr_get = bind,
    .tp_dictoffset = offsetof(CompiledObject, dict),
    .tp_new = newCompiled,
};

PyTypeObject DisabledFunctionType = {
    .ob_base = PyVarObject_HEAD_INIT(nullptr, 0).tp_name = "armature._C.DisabledFunction",
    .tp_basicsize = sizeof(CompiledObject),
    .tp_dealloc = deallocate,
    .tp_vectorcall_offset = offsetof(CompiledObject, vectorcall),
    .tp_repr = represent,
    .tp_call = PyVectorcall_Call,
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL |
                Py_TPFLAGS_METHOD_DESCRIPTOR,
    .tp_doc =
        "DisabledFunction(function)\n--\n\n"
        "A function that is never captured, nor any compiled function that it calls.",
    .tp_traverse = traverse,
    .tp_clear = clearReferences,
    .tp_weaklistoffset = offsetof(CompiledObject, weakReferences),
    .tp_members = members,
    .tp_getset = properties,
    .tp_descr_get = bind,
    .tp_dictoffset = offsetof(CompiledObject, dict),
    .tp_new = newDisabled,
};

PyTypeObject ResumeFunctionType = {
    .ob_base = PyVarObject_HEAD_INIT(nullptr, 0).tp_name = "armature._C.ResumeFunction",
    .tp_basicsize = sizeof(CompiledObject),
    .tp_dealloc = deallocate,
    .tp_vectorcall_offset = offsetof(CompiledObject, vectorcall),
    .tp_repr = represent,
    .tp_call = PyVectorcall_Call,
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL |
                Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .tp_doc = "What goes on after a graph break.",
    .tp_traverse = traverse,
    .tp_clear = clearReferences,
};

Ref<> makeResumeFunction(std::shared_ptr<CodeCache> cache) {
  auto self = Ref<>::steal(ResumeFunctionType.tp_alloc(&ResumeFunctionType, 0));
  if (!self) return self;
  CompiledObject* object = compiled(self.get());
  object->vectorcall = callResume;
  setInputs(object, cache->entry());
  object->cache = new std::shared_ptr<CodeCache>(std::move(cache));
  return self;
}

CodeCache* cacheOf(PyObject* object) {
  if (Py_TYPE(object) != &CompiledFunctionType && Py_TYPE(object) != &ResumeFunctionType) {
    PyErr_Format(PyExc_TypeError, "expected a compiled function, not '%.200s'",
                 Py_TYPE(object)->tp_name);
    return nullptr;
  }
  auto* cache = compiled(object)->cache;
  if (!cache) {
    PyErr_SetString(PyExc_TypeError, "this function is a generator function: it is not traced");
    return nullptr;
  }
  return cache->get();
}

int acceptsCall(PyObject* compiledFunction, PyObject* const* arguments, size_t positionalCount,
                PyObject* keywordNames) {
  if (Py_TYPE(compiledFunction) != &CompiledFunctionType) {
    PyErr_Format(PyExc_TypeError, "expected a compiled function, not '%.200s'",
                 Py_TYPE(compiledFunction)->tp_name);
    return -1;
  }
  CompiledObject* object = compiled(compiledFunction);
  if (!object->cache) return 0;
  std::shared_ptr<CodeCache> cache = *object->cache;
  const EntryPoint& entry = cache->entry();
  llvm::SmallVector<PyObject*, kInlineSlots> slots(entry.locals.size());
  BindingTemporaries temporaries;
  if (!bindCall(object, entry, arguments, positionalCount, keywordNames, slots.data(),
                temporaries)) {
    return PyErr_Occurred() ? -1 : 0;
  }
  return cache->accepts({slots.data(), object->isCell, slots.size()});
}

int translateCall(PyObject* compiledFunction, PyObject* const* arguments, size_t positionalCount,
                  PyObject* keywordNames, llvm::function_ref<void(const CacheEntry&)> visit) {
  if (Py_TYPE(compiledFunction) != &CompiledFunctionType) {
    PyErr_Format(PyExc_TypeError, "expected a compiled function, not '%.200s'",
                 Py_TYPE(compiledFunction)->tp_name);
    return -1;
  }
  CompiledObject* object = compiled(compiledFunction);
  if (!object->cache) return 0;
  std::shared_ptr<CodeCache> cache = *object->cache;
  const EntryPoint& entry = cache->entry();
  size_t inputCount = entry.locals.size();
  llvm::SmallVector<PyObject*, kInlineSlots> slots(inputCount);
  BindingTemporaries temporaries;
  if (!bindCall(object, entry, arguments, positionalCount, keywordNames, slots.data(),
                temporaries)) {
    if (!PyErr_Occurred()) {
      PyErr_Format(PyExc_TypeError, "%U() takes no such arguments", entry.code->name.get());
    }
    return -1;
  }
  for (;;) {
    slots.resize(inputCount + cache->captureCapacity() + 1);
    FrameLocalsMapping inputs{slots.data(), object->isCell, inputCount};
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
  if (PyType_Ready(&ResumeFunctionType) < 0) return -1;
  return PyModule_AddType(module, &CompiledFunctionType) < 0 ||
                 PyModule_AddType(module, &DisabledFunctionType) < 0
             ? -1
             : 0;
}

}  // namespace armature
