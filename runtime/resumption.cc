#include "runtime/resumption.h"

#include <llvm/ADT/STLExtras.h>
#include <structmember.h>

#include <array>
#include <cstddef>
#include <new>
#include <utility>

#include "codegen/graph_failure.h"
#include "codegen/interruption.h"
#include "codegen/plain_function.h"
#include "core/native_stack.h"
#include "cpython/generator_frames.h"
#include "cpython/tracebacks.h"
#include "runtime/break_statistics.h"
#include "runtime/failure.h"
#include "runtime/frame_hook/frame_hook.h"
#include "runtime/python_calls.h"
#include "runtime/shown_frames.h"
#include "runtime/thread_state.h"

namespace armature {

namespace {

struct ResumeState {
  std::shared_ptr<CodeCache> cache;  // null: always plain
  EntryPoint entry;
  Ref<> globals;
  Ref<> builtins;  // the entry's
  Ref<> pythonCalls;
  PlainCode plainCode;    // made when it is needed
  Ref<> breakStatistics;  // of the break because of which it is plain; null: not measured
  Ref<> plainFunction;    // null while there is none, or if each call needs one of its own
};

struct ResumeFunction {
  PyObject_HEAD vectorcallfunc vectorcall;
  size_t inputCount;
  ResumeState* state;
};

ResumeFunction* resumeFunction(PyObject* object) {
  return reinterpret_cast<ResumeFunction*>(object);
}

// The garbage collector need not see it: it lives from the end of one translation to the beginning
// of the next, or, if that doesn't move its inputs, to the end.
struct Resumption {
  PyObject_VAR_HEAD PyObject* target;  // null once it has let go
  PyObject* inputs[];                  // ob_size
};

Resumption* resumption(PyObject* object) { return reinterpret_cast<Resumption*>(object); }

// The youngest that has not been followed yet, while an interrupt may still come in the way of the
// code that made it; null: none. Owned. A pointer, as what a thread leaves behind must not be
// released without the GIL.
thread_local Resumption* unfollowed = nullptr;

Ref<> takeUnfollowed() {
  return Ref<>::steal(reinterpret_cast<PyObject*>(std::exchange(unfollowed, nullptr)));
}

void letGo(Resumption* self) {
  PyObject* target = std::exchange(self->target, nullptr);
  if (!target) return;
  for (Py_ssize_t i = 0; i < Py_SIZE(self); ++i) Py_CLEAR(self->inputs[i]);
  Py_DECREF(target);
}

// `~` of generated code, which has the inputs in its own locals.
PyObject* invertResumption(PyObject* self) {
  letGo(resumption(self));
  Py_RETURN_NONE;
}

PyNumberMethods resumptionNumberMethods = {.nb_invert = invertResumption};

// The one that the innermost resumed frame of the thread goes on from. Borrowed.
thread_local Resumption* running = nullptr;

class RunningScope {
 public:
  explicit RunningScope(Resumption* from) : before_(std::exchange(running, from)) {}
  ~RunningScope() { running = before_; }
  RunningScope(const RunningScope&) = delete;
  RunningScope& operator=(const RunningScope&) = delete;

 private:
  Resumption* before_;
};

PyObject* invertInputsOfFrame(PyObject*) {
  if (running) letGo(running);
  Py_RETURN_NONE;
}

PyNumberMethods inputsOfFrameNumberMethods = {.nb_invert = invertInputsOfFrame};

PyTypeObject InputsOfFrameType = {
    .ob_base = PyVarObject_HEAD_INIT(nullptr, 0).tp_name = "armature._C.InputsOfFrame",
    .tp_basicsize = sizeof(PyObject),
    .tp_as_number = &inputsOfFrameNumberMethods,
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .tp_doc = "What generated code lets go of, by ~, before it returns.",
};

// Memory of one that has ended, for the next with as many inputs: each turn of a loop makes one.
std::array<PyObject*, 16> spares;

void deallocateResumption(PyObject* self) {
  letGo(resumption(self));
  auto count = static_cast<size_t>(Py_SIZE(self));
  if (count < spares.size() && !spares[count]) {
    spares[count] = self;
  } else {
    PyObject_Free(self);
  }
}

PyTypeObject ResumptionType = {
    .ob_base = PyVarObject_HEAD_INIT(nullptr, 0).tp_name = "armature._C.Resumption",
    .tp_basicsize = offsetof(Resumption, inputs),
    .tp_itemsize = sizeof(PyObject*),
    .tp_dealloc = deallocateResumption,
    .tp_as_number = &resumptionNumberMethods,
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .tp_doc = "Where a frame goes on after a graph break, and with which values.",
};

Resumption* newResumption(size_t count) {
  auto size = static_cast<Py_ssize_t>(count);
  PyObject* spare = count < spares.size() ? std::exchange(spares[count], nullptr) : nullptr;
  if (!spare) return PyObject_NewVar(Resumption, &ResumptionType, size);
  PyObject_INIT_VAR(resumption(spare), &ResumptionType, size);
  return resumption(spare);
}

PyObject* callResumeFunction(PyObject* self, PyObject* const* arguments, size_t flags,
                             PyObject* keywordNames) {
  size_t count = PyVectorcall_NARGS(flags);
  if (keywordNames || count != resumeFunction(self)->inputCount) {
    return PyErr_Format(PyExc_TypeError,
                        "this resume function takes exactly %zu positional arguments",
                        resumeFunction(self)->inputCount);
  }
  Resumption* made = newResumption(count);
  if (!made) return nullptr;
  made->target = Py_NewRef(self);
  for (size_t i = 0; i < count; ++i) made->inputs[i] = Py_NewRef(arguments[i]);
  if (resumeFunction(self)->state->entry.interruptRegion()) {
    takeUnfollowed();
    unfollowed = made;
    Py_INCREF(made);
  }
  return reinterpret_cast<PyObject*>(made);
}

int traverseResumeFunction(PyObject* self, visitproc visit, void* arg) {
  // What the cache holds is the compiled function's.
  Py_VISIT(resumeFunction(self)->state->globals.get());
  Py_VISIT(resumeFunction(self)->state->builtins.get());
  Py_VISIT(resumeFunction(self)->state->plainFunction.get());
  return 0;
}

void deallocateResumeFunction(PyObject* self) {
  PyObject_GC_UnTrack(self);
  delete resumeFunction(self)->state;
  PyObject_GC_Del(self);
}

PyObject* representResumeFunction(PyObject* self) {
  const EntryPoint& entry = resumeFunction(self)->state->entry;
  return PyUnicode_FromFormat("<resume function of %U at instruction %d>",
                              entry.code->qualifiedName.get(), entry.start);
}

// Makes an exception the one that is being handled, for the time of a call.
class HandledScope {
 public:
  explicit HandledScope(PyObject* handled) : before_(Ref<>::steal(PyErr_GetHandledException())) {
    PyErr_SetHandledException(handled);
  }
  ~HandledScope() { PyErr_SetHandledException(before_.get()); }
  HandledScope(const HandledScope&) = delete;
  HandledScope& operator=(const HandledScope&) = delete;

 private:
  Ref<> before_;
};

// Where a generator that was left at a yield goes on, is the other one to go on. It has the same
// instructions and locals, but for those that stand before the program's.
bool handOver(BorrowedRef<> from, BorrowedRef<> to) {
  CodePtr ofFrom = lift(cpython::generatorCode(from)), ofTo = lift(cpython::generatorCode(to));
  if (!ofFrom || !ofTo) return false;
  size_t localCount = ofTo->locals.size(), stackStart = ofFrom->locals.size();
  llvm::SmallVector<PyObject*, kInlineSlots> slots;
  size_t firstLocal = stackStart - localCount;
  for (size_t i = 0; i < localCount; ++i) {
    slots.push_back(cpython::generatorSlot(
        from, plainSlot(*ofTo, static_cast<int32_t>(i), static_cast<int32_t>(firstLocal))));
  }
  for (size_t i = stackStart; i < cpython::generatorSlotCount(from); ++i) {
    PyObject* held = cpython::generatorSlot(from, i);
    slots.push_back(held && isPythonCalls(held) ? nullptr : held);
  }
  int32_t position = cpython::generatorPosition(from);
  for (size_t i = 0; i < ofFrom->yields.size(); ++i) {
    if (ofFrom->yields[i].unit != position) continue;
    cpython::suspendGenerator(to, ofTo->yields[i].unit, {slots.data(), slots.size()},
                              cpython::handledByGenerator(from));
    break;
  }
  cpython::endGenerator(from);
  return true;
}

// A turn of a generator: the function's, of which a generator is made, is that of the one that
// counts as running.
PyObject* runTurn(const ResumeState& state, BorrowedRef<> function,
                  llvm::ArrayRef<PyObject*> arguments) {
  Ref<> made =
      Ref<>::steal(PyObject_Vectorcall(function, arguments.data(), arguments.size(), nullptr));
  if (!made) return nullptr;
  PyObject* item = nullptr;
  if (PyIter_Send(made.get(), Py_None, &item) != PYGEN_NEXT) return item;
  Ref<> owned = Ref<>::steal(item);
  PyObject* generator = arguments[state.entry.generatorInput()];
  return handOver(made, generator) ? owned.release() : nullptr;
}

PyObject* runPlainly(ResumeFunction* target, llvm::ArrayRef<PyObject*> arguments) {
  ResumeState& state = *target->state;
  BreakScope scope(state.breakStatistics);
  Ref<> function = state.plainFunction;
  if (!function) {
    if (!state.plainCode.code) state.plainCode = plainCode(state.entry, state.pythonCalls);
    if (!state.plainCode.code) return nullptr;
    function = plainFunction(state.plainCode, state.globals, arguments.data());
    if (!function) return nullptr;
    if (state.plainCode.freeVariables.empty()) state.plainFunction = function;
  }
  if (state.entry.isGenerator) return runTurn(state, function, arguments);
  auto call = [&] {
    return showingFrame(
        PyObject_Vectorcall(function.get(), arguments.data(), arguments.size(), nullptr));
  };
  if (!state.entry.handlesException()) return call();
  HandledScope handled(arguments[state.entry.handledInput()]);
  return call();
}

// Sets an exception that was raised before: what is handled here is not its context.
void restore(const Ref<>& exception) {
  PyErr_Restore(Py_NewRef(reinterpret_cast<PyObject*>(Py_TYPE(exception.get()))),
                Py_NewRef(exception.get()), PyException_GetTraceback(exception.get()));
}

// One translation: what it returns, or where it resumes. `failed`: it was not run, because of the
// exception that is set.
PyObject* runOnce(CodeCache& cache, llvm::SmallVectorImpl<PyObject*>& arguments,
                  llvm::function_ref<PyObject*()> plain, bool& failed, ChosenEntry chosen = {}) {
  size_t count = arguments.size();
  size_t inputCount = count - cache.entry().movesInputs;
  for (;;) {
    arguments.resize(count + cache.captureCapacity() + 1);
    FrameLocalsMapping inputs{arguments.data(), cache.inputIsCell(), inputCount};
    Ref<> function;
    size_t captureCount = 0;
    Pins pins;
    switch (cache.find(inputs, arguments.data() + count, function, captureCount, pins)) {
      case CodeCache::Action::Run: {
        if (chosen) chosen(cache.found());
        // The inputs may have been let go when this returns; not so if it returns the marker, since
        // the graph is called first.
        PyObject* result = showingFrame(
            PyObject_Vectorcall(function.get(), arguments.data(), count + captureCount, nullptr));
        // The marker, made on its first use, cannot be made while an exception is set.
        if (!result || result != graphFailure() || unfollowed) return result;
        Py_DECREF(result);
        if (Ref<> exception = takeInterruption()) {
          restore(exception);
          failed = true;
          return nullptr;
        }
        if (std::unique_ptr<GraphFailure> failure = takeGraphFailure()) {
          return cache.goOn(inputs, *failure);
        }
        return plain();
      }
      case CodeCache::Action::Plain: {
        if (chosen) chosen(cache.found());
        BreakScope scope(cache.plainStatistics());
        std::optional<PlainScope> untouched;
        if (cache.isFirstUse()) untouched.emplace();
        return plain();
      }
      case CodeCache::Action::Error:
        failed = true;
        return nullptr;
      case CodeCache::Action::Compiled:
        continue;
    }
  }
}

// The program has no translation to go on in, because of an exception that is not its own (an
// interrupt, no memory): it is raised where the frame would have gone on, so that the program's
// handlers and context managers see it. Null with an exception set.
PyObject* raiseThere(const ResumeState& state, llvm::ArrayRef<PyObject*> inputs) {
  const EntryPoint& entry = state.entry;
  const ExceptionRegion* found = entry.interruptRegion();
  if (!found) return nullptr;
  const ExceptionRegion& region = *found;
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  PyErr_NormalizeException(&type, &value, &traceback);
  Ref<> ownedType = Ref<>::steal(type), exception = Ref<>::steal(value);
  Ref<> ownedTraceback = Ref<>::steal(traceback);
  Position position = shownPosition(*entry.code, entry.interruptedAt());
  Ref<> raisedHere = cpython::makeTraceback(
      ownedTraceback, entry.code->original, state.globals,
      cpython::offsetOf(entry.code->original, position.line, position.endLine, position.column,
                        position.endColumn),
      position.line);
  if (!raisedHere || PyException_SetTraceback(value, raisedHere.get()) < 0) return nullptr;
  Ref<> lasti = Ref<>::steal(PyLong_FromLong(entry.interruptedAt()));
  if (!lasti) return nullptr;

  llvm::SmallVector<PyObject*, kInlineSlots> arguments;
  EntryPoint handler = entry;
  handler.start = region.target;
  handler.ranLast = -1;
  handler.movesInputs = false;
  handler.stackIsNull.resize(region.depth);
  size_t kept = handler.firstLocalInput() - handler.handlesException() - handler.isShown -
                handler.isGenerator;
  arguments.append(inputs.begin(), inputs.begin() + kept);
  // At the beginning of a handler, its exception is still in the place of the one that was handled
  // before, to which the handler there goes back.
  Ref<> handledBefore;
  bool isBeginning =
      entry.code->instructions[entry.interruptedAt()].opcode == Opcode::PUSH_EXC_INFO &&
      static_cast<size_t>(region.depth) == entry.stackIsNull.size();
  if (isBeginning && kept > 0) {
    handledBefore = entry.handlesException() ? Ref<>::create(inputs[entry.handledInput()])
                                             : Ref<>::steal(PyErr_GetHandledException());
    arguments.back() = handledBefore ? handledBefore.get() : Py_None;
  }
  auto push = [&](PyObject* object) {
    handler.stackIsNull.push_back(false);
    arguments.push_back(object);
  };
  if (region.pushLasti) push(lasti.get());
  push(exception.get());
  if (entry.handlesException()) arguments.push_back(inputs[entry.handledInput()]);
  if (entry.isShown) arguments.push_back(inputs[entry.shownInput()]);
  if (entry.isGenerator) arguments.push_back(inputs[entry.generatorInput()]);
  arguments.append(inputs.end() - entry.locals.size(), inputs.end());
  Ref<> function = makePlainResumeFunction(handler, state.globals, state.pythonCalls);
  if (!function) return nullptr;
  return runPlainly(resumeFunction(function.get()), arguments);
}

// An exception that a frame goes on to handle, the last of its stack, has come through the code
// which ran before.
void showHandledFrame(const EntryPoint& entry, PyObject* const* inputs) {
  if (!entry.isShown) return;
  auto count = llvm::count(entry.stackIsNull, false);
  if (count == 0 || !PyExceptionInstance_Check(inputs[count - 1])) return;
  Ref<> traceback = Ref<>::steal(PyException_GetTraceback(inputs[count - 1]));
  showProgramsFrames(inputs[count - 1], traceback);
}

// `hooks`: how many frame hooks there were when the frame began. One that starts a hook is Python's
// while that is in force: what it calls begins in frames of its own, as the hook is to see.
PyObject* resume(Resumption* from, int hooks) {
  takeUnfollowed();
  Ref<> held = Ref<>::create(from->target);
  ResumeFunction* target = resumeFunction(held.get());
  llvm::SmallVector<PyObject*, kInlineSlots> arguments(from->inputs, from->inputs + Py_SIZE(from));
  if (target->state->entry.movesInputs) arguments.push_back(reinterpret_cast<PyObject*>(from));
  size_t count = arguments.size(), inputCount = Py_SIZE(from);
  showHandledFrame(target->state->entry, from->inputs);
  auto plain = [&] { return runPlainly(target, {arguments.data(), count}); };
  CodeCache* cache = target->state->cache.get();
  if (!cache || runsPlain() || isWatched(*cache->settings()->engine)) return plain();
  if (startedFrameHooks() > hooks) return plain();
  bool failed = false;
  RunningScope scope(from);
  PyObject* result = runOnce(*cache, arguments, plain, failed);
  return failed ? raiseThere(*target->state, {arguments.data(), inputCount}) : result;
}

// What has interrupted the code that was about to return a resumption.
PyObject* raiseAtUnfollowed() {
  Ref<> exception = takeInterruption();
  restore(exception);
  Ref<> held = takeUnfollowed();
  if (!held) return nullptr;
  Resumption* from = resumption(held.get());
  Ref<> target = Ref<>::create(from->target);
  return raiseThere(*resumeFunction(target.get())->state,
                    {from->inputs, static_cast<size_t>(Py_SIZE(from))});
}

// The frame that tracebacks show of a generator that goes on; null where they show none.
Ref<> shownOfGenerator(const Resumption* from) {
  const EntryPoint& entry = resumeFunction(from->target)->state->entry;
  if (!entry.isGenerator || !entry.isShown) return nullptr;
  return Ref<>::create(from->inputs[entry.shownInput()]);
}

// Steals `result`. One that has let go was never meant to be followed. `hooks`: see resume().
PyObject* runToEnd(PyObject* result, int hooks) {
  Ref<> shown;  // of a generator
  for (;;) {
    if (result && Py_TYPE(result) == &ResumptionType && resumption(result)->target) {
      Ref<> from = Ref<>::steal(result);
      shown = shownOfGenerator(resumption(from.get()));
      result = resume(resumption(from.get()), hooks);
    } else if (result && result == graphFailure() && isInterrupted()) {
      Py_DECREF(result);
      result = raiseAtUnfollowed();
    } else {
      if (shown) cpython::forgetCallersOf(shown);
      return result;
    }
  }
}

// --- The frames of functions that the trace had inlined.

struct FrameFunction {
  PyObject_HEAD vectorcallfunc vectorcall;
  PyObject* function;
  std::vector<RealContinuation> continuations;
  PyObject* pythonCalls;
};

PyObject* callFrameFunction(PyObject* self, PyObject* const* arguments, size_t, PyObject*) {
  auto* frame = reinterpret_cast<FrameFunction*>(self);
  return forPython([&]() -> PyObject* {
    if (!hasStackLeft()) return nullptr;
    // Either may let go of the function itself.
    Ref<> held = Ref<>::create(self);
    int hooks = startedFrameHooks();
    bool isGenerator = !frame->continuations.empty() &&
                       frame->continuations.front().kind == OnReturn::LeaveGenerator;
    if (isGenerator) cpython::runGenerator(arguments[1]);
    PyObject* first = showingFrame(PyObject_Vectorcall(frame->function, arguments, 1, nullptr));
    Ref<> result = Ref<>::steal(runToEnd(first, hooks));
    ++arguments;
    for (const RealContinuation& continuation : frame->continuations) {
      result = continueWith(continuation.kind, std::move(result),
                            {arguments, continuation.operandCount}, frame->pythonCalls);
      arguments += continuation.operandCount;
    }
    return result.release();
  });
}

int traverseFrameFunction(PyObject* self, visitproc visit, void* arg) {
  return traverseFunction(reinterpret_cast<FrameFunction*>(self)->function, visit, arg);
}

void deallocateFrameFunction(PyObject* self) {
  PyObject_GC_UnTrack(self);
  auto* frame = reinterpret_cast<FrameFunction*>(self);
  Py_DECREF(frame->function);
  frame->continuations.~vector();
  Py_DECREF(frame->pythonCalls);
  PyObject_GC_Del(self);
}

PyTypeObject ResumeFunctionType = {
    .ob_base = PyVarObject_HEAD_INIT(nullptr, 0).tp_name = "armature._C.ResumeFunction",
    .tp_basicsize = sizeof(ResumeFunction),
    .tp_dealloc = deallocateResumeFunction,
    .tp_vectorcall_offset = offsetof(ResumeFunction, vectorcall),
    .tp_repr = representResumeFunction,
    .tp_call = PyVectorcall_Call,
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL |
                Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .tp_doc = "What goes on after a graph break.",
    .tp_traverse = traverseResumeFunction,
};

PyTypeObject FrameFunctionType = {
    .ob_base = PyVarObject_HEAD_INIT(nullptr, 0).tp_name = "armature._C.FrameFunction",
    .tp_basicsize = sizeof(FrameFunction),
    .tp_dealloc = deallocateFrameFunction,
    .tp_vectorcall_offset = offsetof(FrameFunction, vectorcall),
    .tp_call = PyVectorcall_Call,
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL |
                Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .tp_doc = "The frame of a function that was called, amid a graph break.",
    .tp_traverse = traverseFrameFunction,
};

Ref<> makeFunction(std::shared_ptr<CodeCache> cache, const EntryPoint& entry, Ref<> globals,
                   Ref<> pythonCalls) {
  if (!pythonCalls) return nullptr;
  auto state = std::make_unique<ResumeState>();
  state->cache = std::move(cache);
  state->entry = entry;
  state->globals = std::move(globals);
  state->builtins = Ref<>::create(entry.builtins);
  state->pythonCalls = std::move(pythonCalls);
  ResumeFunction* made = PyObject_GC_New(ResumeFunction, &ResumeFunctionType);
  if (!made) return nullptr;
  made->vectorcall = callResumeFunction;
  made->inputCount = entry.inputCount();
  made->state = state.release();
  PyObject_GC_Track(made);
  return Ref<>::steal(reinterpret_cast<PyObject*>(made));
}

}  // namespace

PyObject* runFrame(CodeCache& cache, llvm::SmallVectorImpl<PyObject*>& arguments,
                   llvm::function_ref<PyObject*()> plain, ChosenEntry chosen) {
  bool failed = false;
  int hooks = startedFrameHooks();
  return runToEnd(runOnce(cache, arguments, plain, failed, chosen), hooks);
}

Ref<> makeResumeFunction(std::shared_ptr<CodeCache> cache, Ref<> pythonCalls) {
  const EntryPoint& entry = cache->entry();
  Ref<> globals = Ref<>::create(cache->globals());
  return makeFunction(std::move(cache), entry, std::move(globals), std::move(pythonCalls));
}

Ref<> makePlainResumeFunction(const EntryPoint& entry, BorrowedRef<> globals, Ref<> pythonCalls,
                              Ref<> breakStatistics) {
  Ref<> made = makeFunction(nullptr, entry, Ref<>::create(globals), std::move(pythonCalls));
  if (made) resumeFunction(made.get())->state->breakStatistics = std::move(breakStatistics);
  return made;
}

PyObject* runMoving(BorrowedRef<> resumeFunction, llvm::ArrayRef<PyObject*> inputs,
                    llvm::function_ref<void()> letGo) {
  int hooks = startedFrameHooks();
  Ref<> from =
      Ref<>::steal(callResumeFunction(resumeFunction, inputs.data(), inputs.size(), nullptr));
  if (!from) return nullptr;
  letGo();
  return runToEnd(from.release(), hooks);
}

Ref<> makeFrameFunction(BorrowedRef<> function, std::vector<RealContinuation> continuations,
                        Ref<> pythonCalls) {
  if (!pythonCalls) return nullptr;
  FrameFunction* made = PyObject_GC_New(FrameFunction, &FrameFunctionType);
  if (!made) return nullptr;
  made->vectorcall = callFrameFunction;
  made->function = Py_NewRef(function.get());
  new (&made->continuations) std::vector<RealContinuation>(std::move(continuations));
  made->pythonCalls = pythonCalls.release();
  PyObject_GC_Track(made);
  return Ref<>::steal(reinterpret_cast<PyObject*>(made));
}

const std::shared_ptr<CodeCache>& cacheOf(PyObject* object) {
  return resumeFunction(object)->state->cache;
}

BorrowedRef<> inputsOfFrame() {
  static PyObject* const inputs = PyObject_New(PyObject, &InputsOfFrameType);
  return inputs;
}

bool hasStackLeft() {
  if (!NativeStack().isNearlyFull()) return true;
  PyErr_SetString(PyExc_RecursionError, "maximum recursion depth exceeded");
  return false;
}

int readyResumptionTypes() {
  bool ready = PyType_Ready(&ResumeFunctionType) == 0 && PyType_Ready(&ResumptionType) == 0 &&
               PyType_Ready(&FrameFunctionType) == 0 && PyType_Ready(&InputsOfFrameType) == 0;
  return ready ? 0 : -1;
}

}  // namespace armature
