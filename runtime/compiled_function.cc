#include "runtime/compiled_function.h"

#include <structmember.h>

#include <cstddef>
#include <utility>

#include "core/constant.h"
#include "core/pending_python_exception.h"
#include "cpython/function_layout.h"
#include "cpython/made_classes.h"
#include "cpython/type_lookup.h"
#include "runtime/argument_binding.h"
#include "runtime/break_statistics.h"
#include "runtime/codegen_environment.h"
#include "runtime/compiled_callable.h"
#include "runtime/failure.h"
#include "runtime/frame_hook/frame_hook.h"
#include "runtime/python_calls.h"
#include "runtime/resumption.h"
#include "runtime/thread_state.h"
#include "runtime/translation_family.h"

namespace armature {

namespace {

using cpython::FunctionField;

// Both callables; `function` is the user's.
struct CompiledObject {
  PyObject_HEAD vectorcallfunc vectorcall;
  PyObject* function;
  PyObject* dict;      // of a DisabledFunction
  PyObject* settings;  // of a CompiledFunction: the package's
  PyObject* reason;    // of a DisabledFunction
  bool isRecursive;    // of a DisabledFunction
  PyObject* weakReferences;
  PyObject* family;  // of a CompiledFunction: a TranslationFamily
};

CompiledObject* compiled(PyObject* object) { return reinterpret_cast<CompiledObject*>(object); }

TranslationFamily& familyOf(const CompiledObject* object) {
  return TranslationFamily::from(object->family);
}

// The translations are for the code that the function has now, which may have been replaced.
// Throws as TranslationFamily::of.
void followCode(CompiledObject* object) {
  TranslationFamily& family = familyOf(object);
  if (cpython::read(object->function, FunctionField::Code) == family.code()) return;
  Ref<> next = TranslationFamily::of(object->function, family.settings());
  Ref<> last = Ref<>::steal(std::exchange(object->family, next.release()));
}

PyObject* callCompiledUnguarded(PyObject* self, PyObject* const* arguments, size_t flags,
                                PyObject* keywordNames) {
  CompiledObject* object = compiled(self);
  auto plain = [&] {
    return PyObject_Vectorcall(object->function, arguments, flags, keywordNames);
  };
  if (!hasStackLeft()) return nullptr;
  if (runsPlain() || isWatched(*familyOf(object).settings()->engine)) return plain();
  followCode(object);
  // The cache must outlive the call, even if the call gives the function other code.
  Ref<> held = Ref<>::create(object->family);
  CodeCache* cache = familyOf(object).root().get();
  auto rewritten = [&]() -> PyObject* {
    Ref<> function = Ref<>::create(object->function);
    TranslationFamily& family = familyOf(object);
    Ref<> calls = pythonCallsOf(family.settings(), family.caches());
    return calls ? callRewritten(function, calls, arguments, flags, keywordNames) : nullptr;
  };
  if (!cache) return rewritten();
  const EntryPoint& entry = cache->entry();
  size_t inputCount = entry.locals.size();
  llvm::SmallVector<PyObject*, kInlineSlots> slots(inputCount);
  BindingTemporaries temporaries;
  if (!bindCall(object->function, entry, arguments, PyVectorcall_NARGS(flags), keywordNames,
                slots.data(), temporaries)) {
    return PyErr_Occurred() ? nullptr : plain();
  }
  return runFrame(*cache, slots, rewritten);
}

// A vectorcallfunc out of which no C++ exception comes.
template <vectorcallfunc function>
PyObject* guarded(PyObject* self, PyObject* const* arguments, size_t flags,
                  PyObject* keywordNames) {
  return forPython([&] { return function(self, arguments, flags, keywordNames); });
}

constexpr vectorcallfunc callCompiled = guarded<callCompiledUnguarded>;

PyObject* callDisabled(PyObject* self, PyObject* const* arguments, size_t flags,
                       PyObject* keywordNames) {
  std::optional<PlainScope> plain;
  if (compiled(self)->isRecursive) plain.emplace();
  LeftAloneScope alone(compiled(self)->function);
  return PyObject_Vectorcall(compiled(self)->function, arguments, flags, keywordNames);
}

// --- Attributes of a compiled function: its function's.

int isOneOf(PyObject* name, PyObject* names) { return names ? PySet_Contains(names, name) : -1; }

// A str set; null with an exception set.
PyObject* frozenSet(Ref<> names) { return names ? PyFrozenSet_New(names.get()) : nullptr; }

PyObject* getAttribute(PyObject* self, PyObject* name) {
  static PyObject* const own = frozenSet(
      Ref<>::steal(Py_BuildValue("(ssssssss)", "__call__", "__class__", "__get__", "__copy__",
                                 "__deepcopy__", "__wrapped__", "function", "_armature_settings")));
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

// What functools.wraps() has given the function; of another, the function itself.
PyObject* getWrapped(PyObject* self, void*) {
  static PyObject* const name = PyUnicode_InternFromString("__wrapped__");
  PyObject* function = compiled(self)->function;
  PyObject* given = PyObject_GetAttr(function, name);
  if (given || !PyErr_ExceptionMatches(PyExc_AttributeError)) return given;
  clearException();
  return Py_NewRef(function);
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
  object->family = TranslationFamily::of(function, settings).release();
  return self;
}

PyObject* newCompiled(PyTypeObject* type, PyObject* arguments, PyObject* keywords) {
  static const char* names[] = {"function",        "backend",       "fullgraph",
                                "recompile_limit", "settings",      "measures_breaks",
                                "sharing_key",     "mixed_backend", nullptr};
  PyObject* function;
  PyObject *backend = Py_None, *packageSettings = Py_None, *sharingKey = Py_None;
  PyObject* mixedBackend = Py_None;
  int fullGraph = 0, limit = 8, measuresBreaks = 0;
  if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "O|OpiOpOO:CompiledFunction",
                                   const_cast<char**>(names), &function, &backend, &fullGraph,
                                   &limit, &packageSettings, &measuresBreaks, &sharingKey,
                                   &mixedBackend)) {
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
  if (mixedBackend != Py_None) settings->mixedBackend = Ref<>::create(mixedBackend);
  if (sharingKey != Py_None) settings->sharingKey = Ref<>::create(sharingKey);
  settings->fullGraph = fullGraph;
  settings->recompileLimit = limit;
  settings->measuresBreaks = measuresBreaks;
  return forPython(
      [&] { return makeCompiled(type, function, std::move(settings), packageSettings).release(); });
}

PyObject* newDisabled(PyTypeObject* type, PyObject* arguments, PyObject* keywords) {
  static const char* names[] = {"function", "recursive", "reason", nullptr};
  PyObject *function, *reason = Py_None;
  int isRecursive = 1;
  if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "O|pO:DisabledFunction",
                                   const_cast<char**>(names), &function, &isRecursive, &reason)) {
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
  compiled(self.get())->reason = Py_NewRef(reason);
  compiled(self.get())->isRecursive = isRecursive;
  return self.release();
}

int traverse(PyObject* self, visitproc visit, void* arg) {
  CompiledObject* object = compiled(self);
  Py_VISIT(object->function);
  Py_VISIT(object->dict);
  Py_VISIT(object->settings);
  Py_VISIT(object->reason);
  Py_VISIT(object->family);
  return 0;
}

// The function stays: while the object lives, it can be called, by a finalizer say. A cycle through
// the function is broken there, or where its attributes and globals are.
int clearReferences(PyObject* self) {
  CompiledObject* object = compiled(self);
  Py_CLEAR(object->dict);
  Py_CLEAR(object->settings);
  Py_CLEAR(object->reason);
  return 0;
}

void deallocate(PyObject* self) {
  PyObject_GC_UnTrack(self);
  CompiledObject* object = compiled(self);
  if (object->weakReferences) PyObject_ClearWeakRefs(self);
  TranslationFamily::keepForLater(Ref<>::steal(std::exchange(object->family, nullptr)));
  Py_CLEAR(object->dict);
  Py_CLEAR(object->settings);
  Py_CLEAR(object->reason);
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
  return PyUnicode_FromFormat("<disabled %R>", object->function);
}

PyMemberDef members[] = {
    {"function", T_OBJECT, offsetof(CompiledObject, function), READONLY,
     "The function that this one stands for."},
    {"recursive", T_BOOL, offsetof(CompiledObject, isRecursive), READONLY,
     "Whether compiled functions that it calls run plainly, too."},
    {"reason", T_OBJECT, offsetof(CompiledObject, reason), READONLY,
     "Why it is disabled, for `explain` and the logs."},
    {},
};

PyMemberDef compiledMembers[] = {
    {"function", T_OBJECT, offsetof(CompiledObject, function), READONLY,
     "The function that this one stands for."},
    {"_armature_settings", T_OBJECT, offsetof(CompiledObject, settings), READONLY,
     "What compile() was asked for."},
    {},
};

// Functions are atoms to copy().
PyObject* itself(PyObject* self, PyObject*) { return Py_NewRef(self); }

bool isNew(PyObject* name) { return PyUnicode_CompareWithASCIIString(name, "__new__") == 0; }

// type.__new__ makes a static method or a class method of functions with some names. Of those that
// stand for a function, this does, which it calls then: where one is assigned later, nobody does.
PyObject* setName(PyObject* self, PyObject* arguments) {
  PyObject *owner, *name;
  if (!PyArg_ParseTuple(arguments, "OO:__set_name__", &owner, &name)) return nullptr;
  if (!PyFunction_Check(compiled(self)->function) || !PyType_Check(owner) ||
      !PyUnicode_CheckExact(name) || !isMadeAMethodByType(name) ||
      cpython::ownAttribute(reinterpret_cast<PyTypeObject*>(owner), name) != self) {
    Py_RETURN_NONE;
  }
  Ref<> method = Ref<>::steal(isNew(name) ? PyStaticMethod_New(self) : PyClassMethod_New(self));
  if (!method || !cpython::setClassAttribute(owner, name, method.get())) return nullptr;
  Py_RETURN_NONE;
}

PyMethodDef methods[] = {
    {"__set_name__", setName, METH_VARARGS, nullptr},
    {"__copy__", itself, METH_NOARGS, nullptr},
    {"__deepcopy__", itself, METH_O, nullptr},
    {},
};

// For who goes past getAttribute(), as pydoc does: `object.__getattribute__(function, "__doc__")`.
PyObject* getOfFunction(PyObject* self, void* name) {
  return PyObject_GetAttrString(compiled(self)->function, static_cast<const char*>(name));
}

constexpr PyGetSetDef ofFunction(const char* name) {
  return {name, getOfFunction, nullptr, nullptr, const_cast<char*>(name)};
}

PyGetSetDef compiledProperties[] = {
    {"__class__", getClass, nullptr, nullptr, nullptr},
    {"__wrapped__", getWrapped, nullptr, nullptr, nullptr},
    ofFunction("__closure__"),
    ofFunction("__code__"),
    ofFunction("__defaults__"),
    ofFunction("__doc__"),
    ofFunction("__globals__"),
    ofFunction("__kwdefaults__"),
    ofFunction("__name__"),
    ofFunction("__qualname__"),
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
  type.tp_methods = methods;
  return type;
}

}  // namespace

PyTypeObject CompiledFunctionType = [] {
  PyTypeObject type = typeOfFunctions("armature._C.CompiledFunction",
                                      "CompiledFunction(function, backend=None, fullgraph=False, "
                                      "recompile_limit=8, settings=None, measures_breaks=False, "
                                      "sharing_key=None, mixed_backend=None)\n"
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

Ref<> makeCompiledFunction(BorrowedRef<> function, std::shared_ptr<const Settings> settings) {
  return makeCompiled(&CompiledFunctionType, function, std::move(settings), Py_None);
}

std::optional<CodeCache::Caches> familyOf(PyObject* object) {
  CodeCache::Caches family;
  auto add = [&](PyObject* function) {
    const CodeCache::Caches& caches = familyOf(compiled(function)).caches()->caches;
    family.insert(family.end(), caches.begin(), caches.end());
  };
  if (Py_TYPE(object) == &CompiledFunctionType) {
    add(object);
  } else if (isCompiledCallable(Py_TYPE(object))) {
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
  followCode(object);
  cache = familyOf(object).root();
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
    Pins pins;
    switch (cache->find(inputs, slots.data() + inputCount, function, captureCount, pins)) {
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

bool isDisabledItself(BorrowedRef<> object) {
  return Py_TYPE(object.get()) == &DisabledFunctionType && !compiled(object.get())->isRecursive;
}

PyObject* reasonOfDisabled(BorrowedRef<> disabledFunction) {
  PyObject* reason = compiled(disabledFunction.get())->reason;
  return reason == Py_None ? nullptr : reason;
}

PyObject* wrappedFunction(PyObject* object) { return compiled(object)->function; }

bool isMadeAMethodByType(PyObject* name) {
  return isNew(name) || PyUnicode_CompareWithASCIIString(name, "__init_subclass__") == 0 ||
         PyUnicode_CompareWithASCIIString(name, "__class_getitem__") == 0;
}

int addCompiledFunctionTypes(PyObject* module) {
  if (TranslationFamily::readyType() < 0 || readyResumptionTypes() < 0 ||
      readyBreakStatisticsType() < 0 || readyPythonCallsType() < 0 ||
      addCompiledCallableType(module) < 0)
    return -1;
  return PyModule_AddType(module, &CompiledFunctionType) < 0 ||
                 PyModule_AddType(module, &DisabledFunctionType) < 0 || addFrameHookType(module) < 0
             ? -1
             : 0;
}

}  // namespace armature
