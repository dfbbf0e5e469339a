#include "cpython/tracebacks.h"

#include <frameobject.h>
#include <llvm/ADT/DenseMap.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "core/set_exception.h"
#include "cpython/c_functions.h"

#define Py_BUILD_CORE 1
#include <internal/pycore_code.h>
#include <internal/pycore_frame.h>
#undef Py_BUILD_CORE

namespace armature::cpython {

namespace {

PyObject* makeFrame(PyObject*, PyObject* const* arguments, Py_ssize_t count) {
  if (count != 3 || !PyCode_Check(arguments[0]) || !PyDict_Check(arguments[1])) {
    PyErr_BadInternalCall();
    return nullptr;
  }
  auto* code = reinterpret_cast<PyCodeObject*>(arguments[0]);
  constexpr auto kUnit = static_cast<Py_ssize_t>(sizeof(_Py_CODEUNIT));
  Py_ssize_t offset = PyLong_AsSsize_t(arguments[2]);
  if (offset < 0 || offset >= Py_SIZE(code) * kUnit) {
    if (!PyErr_Occurred()) PyErr_BadInternalCall();
    return nullptr;
  }
  PyFrameObject* frame = PyFrame_New(PyThreadState_Get(), code, arguments[1], nullptr);
  if (!frame) return nullptr;
  // Behind its beginning, a frame has a cell for each free variable.
  for (int i = code->co_nlocalsplus - code->co_nfreevars; i < code->co_nlocalsplus; ++i) {
    PyObject* cell = PyCell_New(nullptr);
    if (!cell) {
      Py_DECREF(frame);
      return nullptr;
    }
    frame->f_frame->localsplus[i] = cell;
  }
  frame->f_frame->prev_instr = _PyCode_CODE(code) + offset / kUnit;
  return reinterpret_cast<PyObject*>(frame);
}

PyObject* setFrameLocal(PyObject*, PyObject* const* arguments, Py_ssize_t count) {
  if (count != 3 || !PyFrame_Check(arguments[0])) {
    PyErr_BadInternalCall();
    return nullptr;
  }
  _PyInterpreterFrame* frame = reinterpret_cast<PyFrameObject*>(arguments[0])->f_frame;
  Py_ssize_t index = PyLong_AsSsize_t(arguments[1]);
  if (frame->owner != FRAME_OWNED_BY_FRAME_OBJECT || index < 0 ||
      index >= frame->f_code->co_nlocalsplus) {
    if (!PyErr_Occurred()) PyErr_BadInternalCall();
    return nullptr;
  }
  PyObject* before = frame->localsplus[index];
  frame->localsplus[index] = Py_NewRef(arguments[2]);
  Py_XDECREF(before);
  Py_RETURN_NONE;
}

// The frame in which this one goes on; null if none was told.
PyFrameObject* toldOf(PyFrameObject* frame) {
  PyObject* told = frame->f_trace;
  return told && PyFrame_Check(told) ? reinterpret_cast<PyFrameObject*>(told) : nullptr;
}

// The link is f_trace, which nothing looks at in a frame that does not run.
PyObject* continueFrame(PyObject*, PyObject* earlier) {
  PyFrameObject* running = PyEval_GetFrame();
  if (!PyFrame_Check(earlier) || !running) {
    PyErr_BadInternalCall();
    return nullptr;
  }
  auto* last = reinterpret_cast<PyFrameObject*>(earlier);
  PyFrameObject* told = toldOf(last);
  if (told && Py_REFCNT(told) > 1) last = told;
  Py_INCREF(running);
  Py_XSETREF(last->f_trace, reinterpret_cast<PyObject*>(running));
  return Py_NewRef(reinterpret_cast<PyObject*>(last));
}

PyObject* suspendFrame(PyObject*, PyObject* earlier) {
  if (!PyFrame_Check(earlier)) {
    PyErr_BadInternalCall();
    return nullptr;
  }
  auto* frame = reinterpret_cast<PyFrameObject*>(earlier);
  if (toldOf(frame)) Py_CLEAR(frame->f_trace);
  Py_RETURN_NONE;
}

void forgetCaller(PyFrameObject* frame) {
  if (frame->f_frame->owner == FRAME_OWNED_BY_FRAME_OBJECT) Py_CLEAR(frame->f_back);
}

// Does it show a running of this code?
bool stoodFor(PyFrameObject* frame, BorrowedRef<PyCodeObject> code) {
  PyCodeObject* shown = frame->f_frame->f_code;
  return shown->co_firstlineno == code->co_firstlineno &&
         PyUnicode_Compare(shown->co_filename, code->co_filename) == 0 &&
         PyUnicode_Compare(shown->co_qualname, code->co_qualname) == 0;
}

PyObject* endGeneratorFrame(PyObject*, PyObject* const* arguments, Py_ssize_t count) {
  if (count != 2 || !PyFrame_Check(arguments[0]) || !PyTuple_CheckExact(arguments[1])) {
    PyErr_BadInternalCall();
    return nullptr;
  }
  auto* last = reinterpret_cast<PyFrameObject*>(arguments[0]);
  for (PyFrameObject* told = toldOf(last); told && Py_REFCNT(told) > 1; told = toldOf(last)) {
    last = told;
    forgetCaller(last);
  }
  Py_INCREF(arguments[1]);
  Py_XSETREF(last->f_trace, arguments[1]);
  Py_RETURN_NONE;
}

PyObject* ownFrame(PyObject*, PyObject*) {
  PyFrameObject* running = PyEval_GetFrame();
  if (!running) {
    PyErr_BadInternalCall();
    return nullptr;
  }
  return Py_NewRef(reinterpret_cast<PyObject*>(running));
}

}  // namespace

PyObject* continueFrameFunction() {
  static PyMethodDef method = {"continue_frame", continueFrame, METH_O, nullptr};
  static PyObject* const function = PyCFunction_New(&method, nullptr);
  return function;
}

PyObject* suspendFrameFunction() {
  static PyMethodDef method = {"suspend_frame", suspendFrame, METH_O, nullptr};
  static PyObject* const function = PyCFunction_New(&method, nullptr);
  return function;
}

PyObject* endGeneratorFrameFunction() {
  static PyMethodDef method = {"end_generator_frame", asMethod(endGeneratorFrame), METH_FASTCALL,
                               nullptr};
  static PyObject* const function = PyCFunction_New(&method, nullptr);
  return function;
}

void forgetCallerOfGenerator(BorrowedRef<PyCodeObject> code) {
  SetException kept;
  PyObject* traceback = kept.traceback();
  if (!traceback || !PyTraceBack_Check(traceback)) return;
  PyFrameObject* frame = reinterpret_cast<PyTracebackObject*>(traceback)->tb_frame;
  for (; frame && stoodFor(frame, code); frame = toldOf(frame)) forgetCaller(frame);
}

void forgetCallersOf(BorrowedRef<> shown) {
  if (!PyFrame_Check(shown.get())) return;
  SetException kept;
  auto* frame = reinterpret_cast<PyFrameObject*>(shown.get());
  for (; frame; frame = toldOf(frame)) forgetCaller(frame);
}

PyObject* ownFrameFunction() {
  static PyMethodDef method = {"own_frame", ownFrame, METH_NOARGS, nullptr};
  static PyObject* const function = PyCFunction_New(&method, nullptr);
  return function;
}

PyObject* setFrameLocalFunction() {
  static PyMethodDef method = {"set_frame_local", asMethod(setFrameLocal), METH_FASTCALL, nullptr};
  static PyObject* const function = PyCFunction_New(&method, nullptr);
  return function;
}

PyObject* makeFrameFunction() {
  static PyMethodDef method = {"make_frame", asMethod(makeFrame), METH_FASTCALL, nullptr};
  static PyObject* const function = PyCFunction_New(&method, nullptr);
  return function;
}

Py_ssize_t offsetOf(BorrowedRef<PyCodeObject> code, int line, int endLine, int column,
                    int endColumn) {
  constexpr auto kUnit = static_cast<Py_ssize_t>(sizeof(_Py_CODEUNIT));
  Py_ssize_t size = Py_SIZE(code.get()) * kUnit;
  for (Py_ssize_t offset = 0; offset < size; offset += kUnit) {
    int foundLine, foundColumn, foundEndLine, foundEndColumn;
    if (PyCode_Addr2Location(code.get(), static_cast<int>(offset), &foundLine, &foundColumn,
                             &foundEndLine, &foundEndColumn) &&
        foundLine == line && foundEndLine == endLine && foundColumn == column &&
        foundEndColumn == endColumn) {
      return offset;
    }
  }
  return 0;
}

Ref<> makeTraceback(BorrowedRef<> next, BorrowedRef<PyCodeObject> code, BorrowedRef<> globals,
                    Py_ssize_t offset, int line) {
  Ref<> frame = Ref<>::steal(
      PyObject_CallFunction(makeFrameFunction(), "OOn", code.get(), globals.get(), offset));
  if (!frame) return nullptr;
  return Ref<>::steal(PyObject_CallFunction(reinterpret_cast<PyObject*>(&PyTraceBack_Type), "OOni",
                                            next ? next.get() : Py_None, frame.get(), offset,
                                            line));
}

namespace {

PyTracebackObject* entry(BorrowedRef<> traceback) {
  return reinterpret_cast<PyTracebackObject*>(traceback.get());
}

}  // namespace

BorrowedRef<PyCodeObject> codeOfEndedFrame(BorrowedRef<> traceback) {
  _PyInterpreterFrame* frame = entry(traceback)->tb_frame->f_frame;
  return frame->owner == FRAME_OWNED_BY_FRAME_OBJECT ? frame->f_code : nullptr;
}

bool showAs(BorrowedRef<> traceback, BorrowedRef<PyCodeObject> code, int32_t offset) {
  SetException kept;
  PyFrameObject* object = entry(traceback)->tb_frame;
  _PyInterpreterFrame* frame = object->f_frame;
  auto before = Ref<PyCodeObject>::create(frame->f_code);
  int count = code->co_nlocalsplus;
  if (Py_SIZE(object) < count) return false;

  // Names of locals are interned (intern_strings of PyCode_New). Of several with one name the last
  // one decides, as it does for f_locals.
  llvm::DenseMap<PyObject*, int> indices;
  for (int i = 0; i < count; ++i) indices[PyTuple_GET_ITEM(code->co_localsplusnames, i)] = i;
  std::vector<Ref<>> placed(count);
  for (int i = 0; i < std::min(frame->stacktop, before->co_nlocalsplus); ++i) {
    auto found = indices.find(PyTuple_GET_ITEM(before->co_localsplusnames, i));
    if (found != indices.end()) placed[found->second] = Ref<>::create(frame->localsplus[i]);
  }
  for (int i = 0; i < count; ++i) {
    _PyLocals_Kind kind = _PyLocals_GetKind(code->co_localspluskinds, i);
    bool isFree = kind & CO_FAST_FREE;
    bool isCell = isFree || (placed[i] && (kind & CO_FAST_CELL));
    if (!isCell || (placed[i] && PyCell_Check(placed[i].get()))) continue;
    placed[i] = Ref<>::steal(PyCell_New(placed[i].get()));
    if (placed[i]) continue;
    PyErr_Clear();
    return false;
  }

  std::vector<Ref<>> rest;
  rest.reserve(frame->stacktop);
  for (int i = 0; i < frame->stacktop; ++i) {
    rest.push_back(Ref<>::steal(std::exchange(frame->localsplus[i], nullptr)));
  }
  for (int i = 0; i < count; ++i) frame->localsplus[i] = placed[i].release();
  frame->stacktop = count;
  frame->f_code = Ref<PyCodeObject>::create(code).release();
  Py_DECREF(before.get());
  frame->prev_instr = _PyCode_CODE(code.get()) + offset / static_cast<int>(sizeof(_Py_CODEUNIT));
  entry(traceback)->tb_lasti = offset;
  return true;
}

BorrowedRef<> frameOfEntry(BorrowedRef<> traceback) {
  return reinterpret_cast<PyObject*>(entry(traceback)->tb_frame);
}

BorrowedRef<> keptCallerOf(BorrowedRef<> traceback) {
  return reinterpret_cast<PyObject*>(entry(traceback)->tb_frame->f_back);
}

int32_t offsetOfEntry(BorrowedRef<> traceback) { return entry(traceback)->tb_lasti; }

void setOffsetOfEntry(BorrowedRef<> traceback, int32_t offset) {
  entry(traceback)->tb_lasti = offset;
}

BorrowedRef<> nextEntry(BorrowedRef<> traceback) {
  return reinterpret_cast<PyObject*>(entry(traceback)->tb_next);
}

}  // namespace armature::cpython
