// When the handlers of signals run.
//
// CPython runs a program's handlers of signals between any two instructions of Python code on the
// main thread, so also in what a translation asks of Python: what a handler raises there cannot be
// told from an answer. So handlers wait while a translation runs, and run where it asks for them.
#pragma once

namespace armature::cpython {

// While it lives, handlers wait. Of no effect on other threads than the main one, and where they
// wait already.
class DeferredSignals {
 public:
  DeferredSignals();
  // Those that were waited for run soon, as if their signals had arrived then.
  ~DeferredSignals();
  DeferredSignals(const DeferredSignals&) = delete;
  DeferredSignals& operator=(const DeferredSignals&) = delete;

 private:
  bool began_;
};

// While it lives, handlers do not wait: the program's own code runs, or a backend.
class PromptSignals {
 public:
  PromptSignals();
  ~PromptSignals();
  PromptSignals(const PromptSignals&) = delete;
  PromptSignals& operator=(const PromptSignals&) = delete;

 private:
  bool began_;
};

// Runs the handlers of the signals that have arrived, waited for or not. False with the exception
// set that one has raised.
bool handleSignals();

// Does this interpreter hold handlers back so? For the self-test.
bool holdsSignalsBack();

}  // namespace armature::cpython
