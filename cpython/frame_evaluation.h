// PEP 523: who evaluates the frames of Python functions, in the whole process.
#pragma once

#include <cstddef>

#include "core/ref.h"

namespace armature::cpython {

// A frame that CPython has made ready and wants evaluated. What it gives is borrowed from it.
class ReadyFrame {
 public:
  ReadyFrame(PyThreadState* thread, void* frame, int throws)
      : thread_(thread), frame_(frame), throws_(throws) {}

  // It stands before its first instruction, with its arguments bound; else it goes on: a generator.
  bool begins() const;
  // It keeps its variables in a namespace that it was given: a module, a class body, what exec()
  // runs.
  bool hasNamespace() const;
  PyObject* function() const;
  // A parameter, while the frame has not begun.
  PyObject* local(size_t index) const;
  // Evaluates it as if there were no evaluator of ours; once at most. Null with an exception set.
  PyObject* evaluate() const;
  // The same, without those that are underneath.
  PyObject* evaluateByInterpreter() const;

 private:
  PyThreadState* thread_;
  void* frame_;
  int throws_;
};

using FrameEvaluator = PyObject* (*)(const ReadyFrame& frame);

// From here on the evaluator is asked for every frame that CPython evaluates, in all threads, with
// the one that was there before underneath. Always the same evaluator. False with an exception set.
bool installFrameEvaluator(FrameEvaluator evaluator);
// Takes it out again. Where somebody else has put theirs on top of it, it stays, and is asked.
void removeFrameEvaluator();
// Is there another one on top, which is asked first?
bool isFrameEvaluatorCovered();

// Whether an evaluator is asked, and finds what it needs, in this interpreter.
bool framesAreEvaluated();

}  // namespace armature::cpython
