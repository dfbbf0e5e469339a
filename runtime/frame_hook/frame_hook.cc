#include "runtime/frame_hook/frame_hook.h"

#include <llvm/ADT/DenseMap.h>
#include <structmember.h>

#include <cstddef>
#include <utility>

#include "core/pending_python_exception.h"
#include "cpython/frame_evaluation.h"
#include "cpython/function_layout.h"
#include "runtime/failure.h"
#include "runtime/frame_hook/frame_counts.h"
#include "runtime/resumption.h"
#include "runtime/thread_state.h"
#include "runtime/translation_family.h"

namespace armature {

namespace {

using cpython::FunctionField;
using cpython::ReadyFrame;

// Frames of functions whose code and globals are these.
using FunctionKey = std::pair<PyObject*, PyObject*>;

struct FrameHook {
  PyObject_HEAD struct State* state;
  PyObject* weakReferences;
};

struct State {
  std::shared_ptr<const Settings> settings;
  bool capturesStandardLibrary = false;
  // Of functions of modules, by their keys, which the families keep alive. Those of other globals
  // may die with what they are of: they are nobody's in between, see TranslationFamily.
  llvm::DenseMap<FunctionKey, Ref<>> families;
  FrameCounts counts;
  // The hook of the thread that this one is inside of while it is started; null: none.
  FrameHook* outer = nullptr;
  bool isStarted = false;
};

// The innermost of the thread, borrowed: it holds itself while it is started.
thread_local FrameHook* innermost = nullptr;
thread_local PyObject* leftAlone = nullptr;
// In the thread.
thread_local int startedHere = 0;
// In all threads; changed under the GIL.
int startedCount = 0;

State& stateOf(PyObject* hook) { return *reinterpret_cast<FrameHook*>(hook)->state; }

bool isOfModule(PyObject* globals) {
  static PyObject* const key = PyUnicode_InternFromString("__name__");
  PyObject* name = PyDict_CheckExact(globals) ? PyDict_GetItemWithError(globals, key) : nullptr;
  PyObject* module = name && PyUnicode_CheckExact(name)
                         ? PyDict_GetItemWithError(PyImport_GetModuleDict(), name)
                         : nullptr;
  clearException();
  return module && PyModule_Check(module) && PyModule_GetDict(module) == globals;
}

Ref<> familyOf(State& state, BorrowedRef<> function) {
  PyObject* globals = cpython::read(function, FunctionField::Globals);
  FunctionKey key{cpython::read(function, FunctionField::Code), globals};
  auto found = state.families.find(key);
  if (found != state.families.end()) return found->second;
  Ref<> family = TranslationFamily::of(function, state.settings);
  bool hasRoot = TranslationFamily::from(family).root() != nullptr;
  if (hasRoot && isOfModule(globals)) state.families[key] = family;
  return family;
}

// The package's own functions are known by their file.
bool isOfSkippedModule(const State& state, BorrowedRef<> function) {
  return state.settings->engine->skippedModules.contains(
      cpython::read(function, FunctionField::Globals));
}

PyObject* run(FrameHook* hook, const ReadyFrame& frame) {
  Ref<> held = Ref<>::create(reinterpret_cast<PyObject*>(hook));
  State& state = *hook->state;
  Ref<> function = Ref<>::create(frame.function());
  Exclusion exclusion = exclusionOf(cpython::codeOf(function), state.capturesStandardLibrary);
  // A hook underneath would make nothing of it.
  if (exclusion == Exclusion::Generated) return frame.evaluateByInterpreter();
  if (exclusion == Exclusion::Own) return frame.evaluate();
  if (exclusion == Exclusion::None) {
    if (frame.hasNamespace()) exclusion = Exclusion::Namespace;
    if (isWatched(*state.settings->engine)) exclusion = Exclusion::Watched;
    if (cpython::isFrameEvaluatorCovered()) exclusion = Exclusion::OtherHook;
    if (isOfSkippedModule(state, function)) exclusion = Exclusion::Skipped;
    if (function.get() == std::exchange(leftAlone, nullptr)) exclusion = Exclusion::Skipped;
  }
  if (exclusion == Exclusion::None) {
    if (!hasStackLeft()) return nullptr;
    Ref<> family = familyOf(state, function);
    std::shared_ptr<CodeCache> cache = TranslationFamily::from(family).root();
    bool isItsOwn =
        cache && cache->builtins().get() == cpython::read(function, FunctionField::Builtins);
    if (isItsOwn) {
      const EntryPoint& entry = cache->entry();
      size_t bound = entry.code->boundCount();
      PyObject* closure = cpython::read(function, FunctionField::Closure);
      llvm::SmallVector<PyObject*, kInlineSlots> slots(entry.locals.size());
      for (size_t i = 0; i < slots.size(); ++i) {
        slots[i] = i < bound ? frame.local(i) : PyTuple_GET_ITEM(closure, i - bound);
      }
      PyObject* result = runFrame(
          *cache, slots, [&] { return frame.evaluate(); },
          [&](const CacheEntry* chosen) { state.counts.count(*cache, chosen); });
      TranslationFamily::keepForLater(std::move(family));
      return result;
    }
    exclusion = Exclusion::PutTogether;
  }
  state.counts.countExcluded(exclusion);
  return frame.evaluate();
}

PyObject* evaluate(const ReadyFrame& frame) {
  FrameHook* hook = innermost;
  if (!hook || runsPlain() || !frame.begins()) return frame.evaluate();
  return forPython([&] { return run(hook, frame); });
}

// --- The Python type.

PyObject* make(PyTypeObject* type, PyObject* arguments, PyObject* keywords) {
  static const char* names[] = {"backend",          "recompile_limit", "sharing_key",
                                "standard_library", "mixed_backend",   nullptr};
  PyObject *backend = Py_None, *sharingKey = Py_None, *mixedBackend = Py_None;
  int limit = 8, standardLibrary = 0;
  if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "|OiOpO:FrameHook",
                                   const_cast<char**>(names), &backend, &limit, &sharingKey,
                                   &standardLibrary, &mixedBackend)) {
    return nullptr;
  }
  if (backend != Py_None && !PyCallable_Check(backend)) {
    return PyErr_Format(PyExc_TypeError,
                        "FrameHook() takes a backend that can be called, or None, not '%.200s'",
                        Py_TYPE(backend)->tp_name);
  }
  if (limit < 0) {
    return PyErr_Format(PyExc_ValueError, "FrameHook() takes a recompile_limit of 0 or more");
  }
  auto settings = std::make_shared<Settings>();
  if (backend != Py_None) settings->backend = Ref<>::create(backend);
  if (mixedBackend != Py_None) settings->mixedBackend = Ref<>::create(mixedBackend);
  if (sharingKey != Py_None) settings->sharingKey = Ref<>::create(sharingKey);
  settings->recompileLimit = limit;
  Ref<> self = Ref<>::steal(type->tp_alloc(type, 0));
  if (!self) return nullptr;
  auto* hook = reinterpret_cast<FrameHook*>(self.get());
  hook->state = new State();
  hook->state->settings = std::move(settings);
  hook->state->capturesStandardLibrary = standardLibrary;
  return self.release();
}

PyObject* start(PyObject* self, PyObject*) {
  State& state = stateOf(self);
  if (state.isStarted) {
    return PyErr_Format(PyExc_RuntimeError, "the frame hook is started already");
  }
  if (!cpython::installFrameEvaluator(evaluate)) return nullptr;
  ++startedCount;
  ++startedHere;
  state.isStarted = true;
  state.outer = std::exchange(innermost, reinterpret_cast<FrameHook*>(Py_NewRef(self)));
  Py_RETURN_NONE;
}

PyObject* stop(PyObject* self, PyObject*) {
  if (reinterpret_cast<PyObject*>(innermost) != self) {
    return PyErr_Format(PyExc_RuntimeError,
                        "the frame hook is not the one that was started last in this thread");
  }
  State& state = stateOf(self);
  innermost = std::exchange(state.outer, nullptr);
  state.isStarted = false;
  --startedHere;
  if (--startedCount == 0) cpython::removeFrameEvaluator();
  Ref<> held = Ref<>::steal(self);
  Py_RETURN_NONE;
}

PyObject* counts(PyObject* self, PyObject*) {
  return forPython([&] { return stateOf(self).counts.describe().release(); });
}

void forget(State& state) {
  auto families = std::exchange(state.families, decltype(state.families)());
  for (auto& [key, family] : families) {
    CodeCache::clear(TranslationFamily::from(family).caches()->caches);
  }
}

PyObject* reset(PyObject* self, PyObject*) {
  forget(stateOf(self));
  Py_RETURN_NONE;
}

int traverse(PyObject* self, visitproc visit, void* arg) {
  FrameHook* hook = reinterpret_cast<FrameHook*>(self);
  if (!hook->state) return 0;
  for (auto& [key, family] : hook->state->families) Py_VISIT(family.get());
  Py_VISIT(hook->state->settings->backend.get());
  Py_VISIT(hook->state->settings->mixedBackend.get());
  Py_VISIT(hook->state->settings->sharingKey.get());
  return 0;
}

int clear(PyObject* self) {
  State& state = stateOf(self);
  auto families = std::exchange(state.families, decltype(state.families)());
  return 0;
}

void deallocate(PyObject* self) {
  PyObject_GC_UnTrack(self);
  FrameHook* hook = reinterpret_cast<FrameHook*>(self);
  if (hook->weakReferences) PyObject_ClearWeakRefs(self);
  // The next object of the same settings is likely to meet the same functions.
  auto families = std::exchange(hook->state->families, decltype(State::families)());
  for (auto& [key, family] : families) {
    TranslationFamily::keepForLater(std::move(family));
  }
  delete std::exchange(hook->state, nullptr);
  Py_TYPE(self)->tp_free(self);
}

PyMethodDef methods[] = {
    {"start", start, METH_NOARGS,
     "start()\n--\n\nCaptures the frames that begin in this thread, from here on."},
    {"stop", stop, METH_NOARGS, "stop()\n--\n\nEnds it."},
    {"counts", counts, METH_NOARGS,
     "counts()\n--\n\nWhat became of the frames, as a dict: whole, broken, excluded (by reason), "
     "break_reasons."},
    {"reset", reset, METH_NOARGS, "reset()\n--\n\nDrops its translations."},
    {},
};

PyTypeObject FrameHookType = {
    .ob_base = PyVarObject_HEAD_INIT(nullptr, 0).tp_name = "armature._C.FrameHook",
    .tp_basicsize = sizeof(FrameHook),
    .tp_dealloc = deallocate,
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .tp_doc =
        "FrameHook(backend=None, recompile_limit=8, sharing_key=None, standard_library=False, "
        "mixed_backend=None)\n"
        "--\n\n"
        "Captures the Python frames of a thread.",
    .tp_traverse = traverse,
    .tp_clear = clear,
    .tp_weaklistoffset = offsetof(FrameHook, weakReferences),
    .tp_methods = methods,
    .tp_new = make,
};

}  // namespace

bool capturesFrames(const Settings& settings) {
  if (!innermost) return false;
  const Settings& active = *innermost->state->settings;
  return active.engine == settings.engine && settings.sharingKey &&
         active.sharingKey.get() == settings.sharingKey.get();
}

int startedFrameHooks() { return startedHere; }

LeftAloneScope::LeftAloneScope(BorrowedRef<> function)
    : before_(std::exchange(leftAlone, function.get())) {}
LeftAloneScope::~LeftAloneScope() { leftAlone = before_.get(); }

int addFrameHookType(PyObject* module) { return PyModule_AddType(module, &FrameHookType); }

}  // namespace armature
