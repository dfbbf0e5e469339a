#include "cpython/deferred_signals.h"

#include <Python.h>

// These headers are C's; of the two ways to say that a variable is atomic, both the same in memory,
// they have to take that which C++ knows.
#undef HAVE_STD_ATOMIC
#undef _PyGC_FINALIZED
#define Py_BUILD_CORE 1
#include <internal/pycore_ceval.h>
#include <internal/pycore_runtime.h>
#undef Py_BUILD_CORE

namespace armature::cpython {

namespace {

// What no thread is called.
constexpr unsigned long kNoThread = 0;

// CPython asks whether a thread is the main one before it runs handlers (_Py_ThreadCanHandleSignals
// in Include/internal/pycore_pystate.h), and for nothing else that a translation does.
unsigned long& mainThread() { return _PyRuntime.main_thread; }

// The main thread, while its handlers wait.
unsigned long heldBack = kNoThread;

bool holdBack() {
  unsigned long thread = PyThread_get_thread_ident();
  if (mainThread() != thread) return false;
  heldBack = thread;
  mainThread() = kNoThread;
  return true;
}

bool letRun() {
  if (mainThread() != kNoThread || heldBack != PyThread_get_thread_ident()) return false;
  mainThread() = heldBack;
  heldBack = kNoThread;
  // Threads that have taken the GIL meanwhile found nothing to do for the main one.
  if (_Py_atomic_load_relaxed(&_PyRuntime.ceval.signals_pending)) {
    _PyEval_SignalReceived(PyInterpreterState_Get());
  }
  return true;
}

}  // namespace

DeferredSignals::DeferredSignals() : began_(holdBack()) {}

DeferredSignals::~DeferredSignals() {
  if (began_) letRun();
}

PromptSignals::PromptSignals() : began_(letRun()) {}

PromptSignals::~PromptSignals() {
  if (began_) holdBack();
}

bool handleSignals() {
  PromptSignals prompt;
  return PyErr_CheckSignals() == 0;
}

bool holdsSignalsBack() {
  bool isMain = _PyOS_IsMainThread();
  bool isKnown = (mainThread() == PyThread_get_thread_ident()) == isMain || !isMain;
  DeferredSignals deferred;
  bool waits = !_PyOS_IsMainThread();
  PromptSignals prompt;
  return isKnown && waits && _PyOS_IsMainThread() == isMain;
}

}  // namespace armature::cpython
