#include "cpython/frame_evaluation.h"

#define Py_BUILD_CORE 1
#include <internal/pycore_frame.h>
#undef Py_BUILD_CORE

namespace armature::cpython {

namespace {

FrameEvaluator current = nullptr;
// What evaluated frames before.
_PyFrameEvalFunction underneath = nullptr;
// Another evaluator was on top when it was to be removed.
bool wasCovered = false;

_PyInterpreterFrame* as(void* frame) { return static_cast<_PyInterpreterFrame*>(frame); }

// Code of nobody's, by which it is found out whether the evaluator is asked.
PyCodeObject* probe = nullptr;
bool probeWasSeen = false;

PyObject* evaluateFrame(PyThreadState* thread, _PyInterpreterFrame* frame, int throws) {
  ReadyFrame ready(thread, frame, throws);
  if (frame->f_code == probe) {
    probeWasSeen = true;
    return ready.evaluate();
  }
  return current(ready);
}

bool makeProbe() {
  if (probe) return true;
  probe = reinterpret_cast<PyCodeObject*>(Py_CompileString("0", "<probe>", Py_eval_input));
  return probe != nullptr;
}

// 1, 0, or -1 with an exception set.
int isAsked() {
  probeWasSeen = false;
  Ref<> names = Ref<>::steal(PyDict_New());
  Ref<> result = names ? Ref<>::steal(PyEval_EvalCode(reinterpret_cast<PyObject*>(probe),
                                                      names.get(), names.get()))
                       : nullptr;
  return result ? probeWasSeen : -1;
}

PyInterpreterState* interpreter() { return PyInterpreterState_Get(); }

}  // namespace

bool ReadyFrame::begins() const {
  const _PyInterpreterFrame* frame = as(frame_);
  return !throws_ && frame->owner == FRAME_OWNED_BY_THREAD && _PyInterpreterFrame_LASTI(frame) < 0;
}

bool ReadyFrame::hasNamespace() const { return as(frame_)->f_locals != nullptr; }

PyObject* ReadyFrame::function() const { return reinterpret_cast<PyObject*>(as(frame_)->f_func); }

PyObject* ReadyFrame::local(size_t index) const { return as(frame_)->localsplus[index]; }

PyObject* ReadyFrame::evaluate() const {
  _PyFrameEvalFunction next = underneath ? underneath : _PyEval_EvalFrameDefault;
  return next(thread_, as(frame_), throws_);
}

PyObject* ReadyFrame::evaluateByInterpreter() const {
  return _PyEval_EvalFrameDefault(thread_, as(frame_), throws_);
}

bool installFrameEvaluator(FrameEvaluator evaluator) {
  if (!makeProbe()) return false;
  current = evaluator;
  _PyFrameEvalFunction top = _PyInterpreterState_GetEvalFrameFunc(interpreter());
  if (top == evaluateFrame) return true;
  // One that is asked by those on top must not ask them.
  int asked = wasCovered ? isAsked() : 0;
  if (asked != 0) return asked > 0;
  underneath = top;
  wasCovered = false;
  _PyInterpreterState_SetEvalFrameFunc(interpreter(), evaluateFrame);
  return true;
}

void removeFrameEvaluator() {
  wasCovered = isFrameEvaluatorCovered();
  if (!wasCovered) _PyInterpreterState_SetEvalFrameFunc(interpreter(), underneath);
}

bool isFrameEvaluatorCovered() {
  return _PyInterpreterState_GetEvalFrameFunc(interpreter()) != evaluateFrame;
}

bool framesAreEvaluated() {
  Ref<> names = Ref<>::steal(PyDict_New());
  if (!names || PyDict_SetItemString(names.get(), "__builtins__", PyEval_GetBuiltins()) < 0) {
    return false;
  }
  constexpr const char* kProgram =
      "def f(a, b=2): return a, b\n"
      "def g(): yield f(1)";
  Ref<> made = Ref<>::steal(PyRun_String(kProgram, Py_file_input, names.get(), names.get()));
  PyObject* function = made ? PyDict_GetItemString(names.get(), "f") : nullptr;
  PyObject* generator = made ? PyDict_GetItemString(names.get(), "g") : nullptr;
  if (!function || !generator) return false;
  static PyObject *called, *resumed;
  static int begun, goingOn;
  static bool isBound;
  called = function;
  resumed = generator;
  begun = goingOn = 0;
  isBound = false;
  // Other threads may run meanwhile.
  auto evaluator = [](const ReadyFrame& frame) {
    if (frame.function() == resumed) ++(frame.begins() ? begun : goingOn);
    if (frame.function() == called) {
      isBound = frame.begins() && !frame.hasNamespace() && PyLong_AsLong(frame.local(0)) == 1 &&
                PyLong_AsLong(frame.local(1)) == 2;
    }
    return frame.evaluate();
  };
  if (!installFrameEvaluator(evaluator)) return false;
  Ref<> suspended = Ref<>::steal(PyObject_CallNoArgs(generator));
  Ref<> item = suspended ? Ref<>::steal(PyIter_Next(suspended.get())) : nullptr;
  removeFrameEvaluator();
  return item && begun == 1 && goingOn == 1 && isBound;
}

}  // namespace armature::cpython
