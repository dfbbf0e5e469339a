#include "runtime/python_calls.h"

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/STLExtras.h>

#include <cstddef>
#include <utility>

#include "bytecode/liveness.h"
#include "codegen/call_rewriting.h"
#include "codegen/runnable_code.h"
#include "core/checked.h"
#include "core/constant.h"
#include "core/pending_python_exception.h"
#include "cpython/function_layout.h"
#include "cpython/given_arguments.h"
#include "cpython/lru_cache.h"
#include "cpython/starred_arguments.h"
#include "cpython/type_lookup.h"
#include "cpython/weak_references.h"
#include "guards/silent_end.h"
#include "libraries/skipped_code.h"
#include "runtime/argument_binding.h"
#include "runtime/compiled_callable.h"
#include "runtime/compiled_function.h"
#include "runtime/failure.h"
#include "runtime/frame_hook/frame_hook.h"
#include "runtime/resumption.h"
#include "runtime/shown_frames.h"
#include "runtime/thread_state.h"
#include "variables/functions/cached_function.h"
#include "variables/functions/partial.h"

namespace armature {

namespace {

using cpython::FunctionField;

// What is known of functions with one code and one dict of globals.
struct Twin {
  // Keeps the key of the map what it is. The dict of globals is the cache's, or nobody's: where
  // nothing is captured, another one in its place makes no difference.
  Ref<> code;
  std::shared_ptr<CodeCache> cache;  // null: run as it is
  // Its first translation has had its say (see isPlain), and what that was.
  bool isJudged = false;
  bool runsAsItIs = false;
  // Parameters that the function binds anew, or deletes: numbers of slots.
  llvm::SmallVector<int32_t, 2> rebound;
  // The function from its beginning, for calls that give such arguments up; null until it is
  // needed.
  Ref<> moving;
};

struct Caller {
  PyObject_HEAD vectorcallfunc vectorcall;
  struct State* state;
};

struct State {
  std::shared_ptr<const Settings> settings;
  std::weak_ptr<CodeCache::Family> family;
  llvm::DenseMap<std::pair<PyObject*, PyObject*>, std::shared_ptr<Twin>> twins;
  // The same, by the hash of the code: a program may make the same code anew for each call.
  llvm::DenseMap<std::pair<size_t, PyObject*>, llvm::SmallVector<std::shared_ptr<Twin>, 1>>
      twinsByValue;
  // Code that was rewritten, by the program's, which the first of the pair keeps alive; the second
  // is null if it can't be.
  llvm::DenseMap<PyCodeObject*, std::pair<Ref<PyCodeObject>, Ref<PyCodeObject>>> rewritten;
};

// Programs that make ever new code objects run that as it is, from some number of them on.
constexpr size_t kMostTwins = 4096;

// Where the frame that makes a call has the callable and the arguments, if it gives them up: empty
// where somebody has them while the call lasts.
using GivenUp = llvm::ArrayRef<PyObject*>;

// The arguments of f(*arguments, **keywords); `keywords` may be null.
struct Starred {
  PyObject* arguments;
  PyObject* keywords;
};

// `starred`: what the arguments were put together from, which a function of C may be given as it
// is.
PyObject* call(State& state, PyObject* self, PyObject* callable, PyObject* const* arguments,
               size_t flags, PyObject* keywordNames, const Starred* starred = nullptr,
               GivenUp givenUp = {});

// Does a call of the function make a generator, a coroutine or the like?
bool suspends(BorrowedRef<> function) {
  return cpython::codeOf(function)->co_flags & (CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR);
}

// A twin that runs as it is may lose nothing.
void makeCache(State& state, PyObject* function, Twin& twin) {
  std::shared_ptr<CodeCache::Family> family = state.family.lock();
  PyCodeObject* code = cpython::codeOf(function);
  if (!family || isSkippedCode(code) || !isConstant(reinterpret_cast<PyObject*>(code))) return;
  CodePtr canonical = lift(code);
  if (!canonical) throw PendingPythonException();
  if (canonical->readsOwnFrame) return;
  llvm::BitVector rebound = reboundFrom(*canonical, 0);
  for (int32_t i = 0; i < canonical->boundCount(); ++i) {
    if (rebound.test(i)) twin.rebound.push_back(i);
  }
  twin.cache = CodeCache::ofFunction(function, std::move(canonical), state.settings, family);
}

// Where making something of the function fails, that is reported, and there is none.
void makeFor(State& state, PyObject* function, Twin& twin, llvm::function_ref<void()> make) {
  try {
    make();
  } catch (...) {
    std::string message;
    if (isForUser(message)) throw RaisedForUser();
    reportFailure(state.settings->engine->hooks, twin.code,
                  cpython::read(function, FunctionField::QualifiedName), message,
                  FailureKind::Error);
    if (PyErr_Occurred()) throw RaisedForUser();
  }
}

std::shared_ptr<Twin> twinOf(State& state, PyObject* function) {
  PyObject* code = cpython::read(function, FunctionField::Code);
  std::pair<PyObject*, PyObject*> key{code, cpython::read(function, FunctionField::Globals)};
  auto found = state.twins.find(key);
  if (found != state.twins.end()) return found->second;
  std::pair<size_t, PyObject*> value{hashConstant(code), key.second};
  for (const std::shared_ptr<Twin>& twin : state.twinsByValue.lookup(value)) {
    if (twin->cache && sameConstant(twin->code, code)) return twin;
  }
  if (state.twins.size() >= kMostTwins) return nullptr;
  auto twin = std::make_shared<Twin>();
  twin->code = Ref<>::create(code);
  makeFor(state, function, *twin, [&] { makeCache(state, function, *twin); });
  state.twins[key] = twin;
  state.twinsByValue[value].push_back(twin);
  return twin;
}

// Had its first translation, which came to the function's end, nothing for a graph?
bool isPlain(CodeCache& cache) {
  bool hasWork = false, any = false;
  cache.visitEntries([&](const CacheEntry& entry) {
    any = true;
    hasWork |= entry.reason.has_value() || (entry.graph && !entry.graph->empty());
  });
  return any && !hasWork;
}

// Has nobody else a reference to an argument for whose end somebody may wait?
bool mayEnd(PyObject* argument) {
  return argument && Py_REFCNT(argument) == 1 && !isPlainData(Py_TYPE(argument));
}

// May the program tell when an argument ends that nobody else has? Then the frame of the function
// is what holds it, which lets go of it in an order, and is held itself by the traceback of what
// the function raises.
bool mayBeSeenToEnd(PyObject* argument, Ends& ends) {
  if (!mayEnd(argument)) return false;
  auto references = [](PyObject* one) { return Py_REFCNT(one); };
  return cpython::hasWeakReference(argument) || !ends.letGo(argument, LettingGo::Last, references);
}

// Null where it cannot be made.
Ref<> movingOf(State& state, PyObject* self, PyObject* function, Twin& twin) {
  std::shared_ptr<CodeCache::Family> family = state.family.lock();
  if (twin.moving || !family) return twin.moving;
  makeFor(state, function, twin, [&] {
    auto cache = CodeCache::ofFunction(function, twin.cache->entry().code, state.settings, family,
                                       /*movesInputs=*/true);
    twin.moving = checked(makeResumeFunction(std::move(cache), Ref<>::create(self)).release());
  });
  return twin.moving;
}

// Is nobody but the stack of the calling frame to have an argument that the function binds anew?
bool movesRebound(const Twin& twin, llvm::ArrayRef<PyObject*> slots) {
  return llvm::any_of(twin.rebound, [&](int32_t slot) { return mayEnd(slots[slot]); });
}

PyObject* callFunction(State& state, PyObject* self, PyObject* function, PyObject* const* arguments,
                       size_t flags, PyObject* keywordNames, GivenUp givenUp) {
  if (suspends(function)) return callRewritten(function, self, arguments, flags, keywordNames);
  auto asItIs = [&] { return PyObject_Vectorcall(function, arguments, flags, keywordNames); };
  std::shared_ptr<Twin> twin = twinOf(state, function);
  if (!twin || !twin->cache) return asItIs();
  std::shared_ptr<CodeCache> cache = twin->cache;
  if (cache->builtins().get() != cpython::read(function, FunctionField::Builtins)) {
    return asItIs();
  }
  // Before the arguments are put into the tuple and the dict of a function that takes any.
  Ends ends;
  bool areSeen =
      llvm::any_of(givenUp, [&](PyObject* argument) { return mayBeSeenToEnd(argument, ends); });
  bool moves = areSeen || (!twin->rebound.empty() && llvm::any_of(givenUp, mayEnd));
  if (twin->runsAsItIs && !moves) return asItIs();
  auto plain = [&] { return callRewritten(function, self, arguments, flags, keywordNames); };
  llvm::SmallVector<PyObject*, kInlineSlots> slots(cache->entry().locals.size());
  BindingTemporaries temporaries;
  if (!bindCall(function, cache->entry(), arguments, PyVectorcall_NARGS(flags), keywordNames,
                slots.data(), temporaries)) {
    // The error is Python's own.
    if (PyErr_Occurred()) return nullptr;
    return asItIs();
  }
  if (!hasStackLeft()) return nullptr;
  Ref<> moving;
  if (areSeen || (moves && movesRebound(*twin, slots))) {
    moving = movingOf(state, self, function, *twin);
  }
  if (moving) {
    Ref<> held = Ref<>::create(function);
    return runMoving(moving, slots, [&] {
      temporaries = BindingTemporaries();
      for (PyObject* const& place : givenUp) cpython::takeArgument(&place);
    });
  }
  if (twin->runsAsItIs) return asItIs();
  PyObject* result = runFrame(*cache, slots, plain);
  if (!twin->isJudged) {
    twin->isJudged = true;
    twin->runsAsItIs = isPlain(*cache);
  }
  return result;
}

PyObject* callWithSelf(State& state, PyObject* self, PyObject* function, PyObject* first,
                       PyObject* const* arguments, size_t flags, PyObject* keywordNames,
                       GivenUp givenUp = {}) {
  size_t count = PyVectorcall_NARGS(flags);
  size_t keywordCount = keywordNames ? PyTuple_GET_SIZE(keywordNames) : 0;
  llvm::SmallVector<PyObject*, kInlineSlots> all{first};
  all.append(arguments, arguments + count + keywordCount);
  return call(state, self, function, all.data(), count + 1, keywordNames, nullptr, givenUp);
}

// Does a call of it come to Python code here?
bool isPythonCode(PyObject* callable) {
  return PyFunction_Check(callable) || isDisabledItself(callable);
}

// Null if there is none.
PyObject* pythonCode(PyTypeObject* type, PyObject* name) {
  PyObject* found = cpython::lookup(type, name);
  return found && isPythonCode(found) ? found : nullptr;
}

// type_call of typeobject.c.
PyObject* construct(State& state, PyObject* self, PyTypeObject* type, PyObject* initializer,
                    PyObject* const* arguments, size_t flags, PyObject* keywordNames,
                    const Starred* starred) {
  size_t count = PyVectorcall_NARGS(flags);
  Ref<> positional = starred ? Ref<>::create(starred->arguments)
                             : Ref<>::steal(PyTuple_New(static_cast<Py_ssize_t>(count)));
  if (!positional) return nullptr;
  for (size_t i = 0; !starred && i < count; ++i) {
    PyTuple_SET_ITEM(positional.get(), i, Py_NewRef(arguments[i]));
  }
  Ref<> keywords;
  if (keywordNames && PyTuple_GET_SIZE(keywordNames) > 0) {
    keywords = Ref<>::steal(PyDict_New());
    for (Py_ssize_t i = 0; keywords && i < PyTuple_GET_SIZE(keywordNames); ++i) {
      if (PyDict_SetItem(keywords.get(), PyTuple_GET_ITEM(keywordNames, i), arguments[count + i]) <
          0) {
        return nullptr;
      }
    }
    if (!keywords) return nullptr;
  }
  Ref<> made = Ref<>::steal(type->tp_new(type, positional.get(), keywords.get()));
  if (!made || !PyType_IsSubtype(Py_TYPE(made.get()), type)) return made.release();
  // The object's own class may have another one.
  static PyObject* const name = PyUnicode_InternFromString("__init__");
  if (cpython::lookup(Py_TYPE(made.get()), name) != initializer) {
    int failed = Py_TYPE(made.get())->tp_init(made.get(), positional.get(), keywords.get());
    return failed < 0 ? nullptr : made.release();
  }
  Ref<> result = Ref<>::steal(
      callWithSelf(state, self, initializer, made.get(), arguments, flags, keywordNames));
  if (!result) return nullptr;
  if (result.get() != Py_None) {
    return PyErr_Format(PyExc_TypeError, "__init__() should return None, not '%.200s'",
                        Py_TYPE(result.get())->tp_name);
  }
  return made.release();
}

PyObject* callPlainly(PyObject* callable, PyObject* const* arguments, size_t flags,
                      PyObject* keywordNames, const Starred* starred) {
  return starred ? PyObject_Call(callable, starred->arguments, starred->keywords)
                 : PyObject_Vectorcall(callable, arguments, flags, keywordNames);
}

// partial_call of _functoolsmodule.c.
PyObject* callPartial(State& state, PyObject* self, PyObject* partial, PyObject* const* arguments,
                      size_t flags, PyObject* keywordNames, const Starred* starred) {
  Ref<> function = Ref<>::steal(PyObject_GetAttrString(partial, "func"));
  Ref<> first = Ref<>::steal(PyObject_GetAttrString(partial, "args"));
  Ref<> keywords = Ref<>::steal(PyObject_GetAttrString(partial, "keywords"));
  if (!function || !first || !keywords) return nullptr;
  size_t count = PyVectorcall_NARGS(flags);
  llvm::SmallVector<PyObject*, kInlineSlots> all(
      PySequence_Fast_ITEMS(first.get()),
      PySequence_Fast_ITEMS(first.get()) + PyTuple_GET_SIZE(first.get()));
  all.append(arguments, arguments + count);
  size_t positional = all.size();
  Ref<> merged = Ref<>::steal(PyDict_Copy(keywords.get()));
  for (Py_ssize_t i = 0; merged && keywordNames && i < PyTuple_GET_SIZE(keywordNames); ++i) {
    if (PyDict_SetItem(merged.get(), PyTuple_GET_ITEM(keywordNames, i), arguments[count + i]) < 0) {
      return nullptr;
    }
  }
  Ref<> names = merged ? Ref<>::steal(PySequence_Tuple(merged.get())) : nullptr;
  if (!names) return nullptr;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(names.get()); ++i) {
    // PyVectorcall_Call refuses such names.
    if (!PyUnicode_CheckExact(PyTuple_GET_ITEM(names.get(), i))) {
      return callPlainly(partial, arguments, flags, keywordNames, starred);
    }
    PyObject* value = PyDict_GetItemWithError(merged.get(), PyTuple_GET_ITEM(names.get(), i));
    if (!value) return nullptr;
    all.push_back(value);
  }
  bool hasKeywords = PyTuple_GET_SIZE(names.get()) > 0;
  // What PySequence_Concat gives where one of the two tuples is empty.
  PyObject* tuple = count == 0 ? first.get() : starred ? starred->arguments : nullptr;
  Starred together = {tuple, hasKeywords ? merged.get() : nullptr};
  bool isOneTuple = tuple && static_cast<size_t>(PyTuple_GET_SIZE(tuple)) == positional;
  return call(state, self, function.get(), all.data(), positional,
              hasKeywords ? names.get() : nullptr, isOneTuple ? &together : nullptr);
}

PyObject* call(State& state, PyObject* self, PyObject* callable, PyObject* const* arguments,
               size_t flags, PyObject* keywordNames, const Starred* starred, GivenUp givenUp) {
  auto plain = [&] { return callPlainly(callable, arguments, flags, keywordNames, starred); };
  PyTypeObject* type = Py_TYPE(callable);
  if (type == &PyFunction_Type) {
    return callFunction(state, self, callable, arguments, flags, keywordNames, givenUp);
  }
  if (type == &PyMethod_Type) {
    PyObject* function = PyMethod_GET_FUNCTION(callable);
    if (!isPythonCode(function)) return plain();
    return callWithSelf(state, self, function, PyMethod_GET_SELF(callable), arguments, flags,
                        keywordNames, givenUp);
  }
  if (isDisabledItself(callable)) {
    Ref<> function = Ref<>::create(wrappedFunction(callable));
    if (!PyFunction_Check(function.get())) return plain();
    return callRewritten(function, self, arguments, flags, keywordNames);
  }
  if (isCompiledCallable(type)) {
    Ref<> function = callOf(callable);
    if (!function) return nullptr;
    if (!isDisabledItself(function)) return plain();
    Ref<> original = Ref<>::create(originalOf(callable));
    return callWithSelf(state, self, function.get(), original.get(), arguments, flags,
                        keywordNames);
  }
  if (type == partialType()) {
    return callPartial(state, self, callable, arguments, flags, keywordNames, starred);
  }
  bool isClass = PyType_Check(callable);
  if (!isClass && !(type->tp_flags & Py_TPFLAGS_HEAPTYPE)) return plain();
  if (isClass) {
    auto* made = reinterpret_cast<PyTypeObject*>(callable);
    static PyObject* const callName = PyUnicode_InternFromString("__call__");
    static PyObject* const typeCall = cpython::ownAttribute(&PyType_Type, callName);
    bool isOrdinary = (made->tp_flags & Py_TPFLAGS_HEAPTYPE) &&
                      cpython::lookup(type, callName) == typeCall && made->tp_new &&
                      !made->tp_vectorcall;
    static PyObject* const name = PyUnicode_InternFromString("__init__");
    PyObject* initializer = isOrdinary ? pythonCode(made, name) : nullptr;
    if (!initializer) return plain();
    Ref<> held = Ref<>::create(initializer);
    return construct(state, self, made, initializer, arguments, flags, keywordNames, starred);
  }
  static PyObject* const name = PyUnicode_InternFromString("__call__");
  Ref<> function = Ref<>::create(pythonCode(type, name));
  if (!function) return plain();
  return callWithSelf(state, self, function.get(), callable, arguments, flags, keywordNames);
}

// arguments[0] with the others.
PyObject* callFirst(PyObject* self, PyObject* const* arguments, size_t flags,
                    PyObject* keywordNames, const Starred* starred) {
  Py_ssize_t count = PyVectorcall_NARGS(flags);
  if (count < 1) return PyErr_Format(PyExc_TypeError, "a call needs a callable");
  auto plain = [&] {
    return callPlainly(arguments[0], arguments + 1, count - 1, keywordNames, starred);
  };
  // Nothing of it is ever captured, and it is what breaks most.
  if (Py_IS_TYPE(arguments[0], &PyCFunction_Type)) return plain();
  return forPython([&]() -> PyObject* {
    if (arguments[0] == reinterpret_cast<PyObject*>(cpython::lruCacheType())) {
      Ref<> made = Ref<>::steal(plain());
      return made && noteMadeCache(made) ? made.release() : nullptr;
    }
    State& state = *reinterpret_cast<Caller*>(self)->state;
    bool isPlain = runsPlain() || isWatched(*state.settings->engine);
    if (isPlain || capturesFrames(*state.settings)) return plain();
    GivenUp givenUp;
    if (cpython::areGivenUp(arguments)) {
      Py_ssize_t total = count + (keywordNames ? PyTuple_GET_SIZE(keywordNames) : 0);
      givenUp = {arguments, static_cast<size_t>(total)};
    }
    return call(state, self, arguments[0], arguments + 1, count - 1, keywordNames, starred,
                givenUp);
  });
}

PyObject* callPythonCalls(PyObject* self, PyObject* const* arguments, size_t flags,
                          PyObject* keywordNames) {
  return callFirst(self, arguments, flags, keywordNames, nullptr);
}

// `self` of the other one, as CALL_FUNCTION_EX makes calls.
struct StarredCaller {
  PyObject_HEAD vectorcallfunc vectorcall;
  PyObject* caller;
};

PyObject* callStarred(PyObject* self, PyObject* const* arguments, size_t flags, PyObject*) {
  return forPython([&]() -> PyObject* {
    Py_ssize_t count = PyVectorcall_NARGS(flags);
    bool hasKeywords = count == 3 && PyDict_CheckExact(arguments[2]);
    if (count != 2 && !hasKeywords) {
      return PyErr_Format(PyExc_TypeError, "a call needs a callable, arguments, and keywords");
    }
    PyObject* callable = arguments[0];
    Ref<> positional = cpython::starredArguments(callable, arguments[1]);
    if (!positional) return nullptr;
    llvm::SmallVector<PyObject*, kInlineSlots> all{callable};
    PyObject** items = PySequence_Fast_ITEMS(positional.get());
    all.append(items, items + PyTuple_GET_SIZE(positional.get()));
    size_t positionalCount = all.size();
    Ref<> names;
    if (hasKeywords && PyDict_GET_SIZE(arguments[2]) > 0) {
      names = Ref<>::steal(PySequence_Tuple(arguments[2]));
      if (!names) return nullptr;
      PyObject *key, *value;
      for (Py_ssize_t position = 0; PyDict_Next(arguments[2], &position, &key, &value);) {
        // The error is Python's own.
        if (!PyUnicode_Check(key)) return PyObject_Call(callable, positional.get(), arguments[2]);
        all.push_back(value);
      }
    }
    auto* caller = reinterpret_cast<StarredCaller*>(self)->caller;
    Starred starred{positional.get(), names ? arguments[2] : nullptr};
    return callFirst(caller, all.data(), positionalCount, names.get(), &starred);
  });
}

void deallocateStarred(PyObject* self) {
  Py_DECREF(reinterpret_cast<StarredCaller*>(self)->caller);
  PyObject_Free(self);
}

PyTypeObject StarredCallsType = {
    .ob_base = PyVarObject_HEAD_INIT(nullptr, 0).tp_name = "armature._C.StarredPythonCalls",
    .tp_basicsize = sizeof(StarredCaller),
    .tp_dealloc = deallocateStarred,
    .tp_vectorcall_offset = offsetof(StarredCaller, vectorcall),
    .tp_call = PyVectorcall_Call,
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .tp_doc = "Calls a callable with a tuple and a dict, captured if it is Python code.",
};

PyObject* getStarred(PyObject* self, void*) {
  auto* made = PyObject_New(StarredCaller, &StarredCallsType);
  if (!made) return nullptr;
  made->vectorcall = callStarred;
  made->caller = Py_NewRef(self);
  return reinterpret_cast<PyObject*>(made);
}

PyGetSetDef attributes[] = {
    {"starred", getStarred, nullptr, "The same for calls with a tuple and a dict.", nullptr},
    {},
};

void deallocate(PyObject* self) {
  delete reinterpret_cast<Caller*>(self)->state;
  PyObject_Free(self);
}

PyTypeObject PythonCallsType = {
    .ob_base = PyVarObject_HEAD_INIT(nullptr, 0).tp_name = "armature._C.PythonCalls",
    .tp_basicsize = sizeof(Caller),
    .tp_dealloc = deallocate,
    .tp_vectorcall_offset = offsetof(Caller, vectorcall),
    .tp_call = PyVectorcall_Call,
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .tp_doc = "Calls a callable with arguments, captured if it is Python code.",
    .tp_getset = attributes,
};

}  // namespace

Ref<PyCodeObject> rewrittenCode(BorrowedRef<PyCodeObject> code, BorrowedRef<> pythonCalls) {
  State& state = *reinterpret_cast<Caller*>(pythonCalls.get())->state;
  auto found = state.rewritten.find(code);
  if (found != state.rewritten.end()) return found->second.second;
  if (state.rewritten.size() >= kMostTwins || isSkippedCode(code)) return nullptr;
  Ref<PyCodeObject> rewritten;
  CodePtr canonical = lift(code);
  if (canonical && isConstant(reinterpret_cast<PyObject*>(code.get()))) {
    rewritten = runnableCode(rewriteCalls(*canonical, pythonCalls), code);
    if (rewritten && !setOriginal(rewritten, code)) rewritten = nullptr;
  }
  if (PyErr_Occurred() && PyErr_ExceptionMatches(PyExc_MemoryError)) return nullptr;
  clearException();
  state.rewritten[code] = {Ref<PyCodeObject>::create(code), rewritten};
  return rewritten;
}

Ref<> pythonCallsOf(const std::shared_ptr<const Settings>& settings,
                    const std::shared_ptr<CodeCache::Family>& family) {
  if (family->pythonCalls) return family->pythonCalls;
  auto state = std::make_unique<State>();
  state->settings = settings;
  state->family = family;
  Caller* made = PyObject_New(Caller, &PythonCallsType);
  if (!made) return nullptr;
  made->vectorcall = callPythonCalls;
  made->state = state.release();
  family->pythonCalls = Ref<>::steal(reinterpret_cast<PyObject*>(made));
  return family->pythonCalls;
}

void forgetFunctions(BorrowedRef<> pythonCalls) {
  if (!pythonCalls) return;
  State& state = *reinterpret_cast<Caller*>(pythonCalls.get())->state;
  auto twins = std::exchange(state.twins, decltype(state.twins)());
  auto twinsByValue = std::exchange(state.twinsByValue, decltype(state.twinsByValue)());
  auto rewritten = std::exchange(state.rewritten, decltype(state.rewritten)());
}

PyObject* callRewritten(BorrowedRef<> function, BorrowedRef<> pythonCalls,
                        PyObject* const* arguments, size_t flags, PyObject* keywordNames) {
  auto plain = [&] { return PyObject_Vectorcall(function.get(), arguments, flags, keywordNames); };
  Ref<PyCodeObject> code = rewrittenCode(cpython::codeOf(function), pythonCalls);
  if (!code) return PyErr_Occurred() ? nullptr : plain();
  Ref<> made = cpython::makeFunction(reinterpret_cast<PyObject*>(code.get()),
                                     cpython::read(function, FunctionField::Globals),
                                     cpython::read(function, FunctionField::Builtins));
  if (!made) return nullptr;
  if (PyObject* closure = cpython::read(function, FunctionField::Closure)) {
    if (PyFunction_SetClosure(made.get(), closure) < 0) return nullptr;
  }
  if (PyObject* defaults = cpython::read(function, FunctionField::Defaults)) {
    if (PyFunction_SetDefaults(made.get(), defaults) < 0) return nullptr;
  }
  if (PyObject* defaults = cpython::read(function, FunctionField::KeywordDefaults)) {
    if (PyFunction_SetKwDefaults(made.get(), defaults) < 0) return nullptr;
  }
  // What a generator is called, it has of the function.
  if (suspends(function)) {
    PyObject* name = cpython::read(function, FunctionField::Name);
    PyObject* qualifiedName = cpython::read(function, FunctionField::QualifiedName);
    if (PyObject_SetAttrString(made.get(), "__name__", name) < 0 ||
        PyObject_SetAttrString(made.get(), "__qualname__", qualifiedName) < 0) {
      return nullptr;
    }
  }
  return showingFrame(PyObject_Vectorcall(made.get(), arguments, flags, keywordNames));
}

bool isPythonCalls(BorrowedRef<> object) {
  return Py_IS_TYPE(object.get(), &PythonCallsType) || Py_IS_TYPE(object.get(), &StarredCallsType);
}

int readyPythonCallsType() {
  return PyType_Ready(&PythonCallsType) < 0 ? -1 : PyType_Ready(&StarredCallsType);
}

}  // namespace armature
