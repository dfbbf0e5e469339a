#include "cpython/tracebacks.h"

#include <frameobject.h>

#include "cpython/c_functions.h"

#define Py_BUILD_CORE 1
#include <internal/pycore_frame.h>
#undef Py_BUILD_CORE

namespace armature::cpython {

namespace {

PyObject* makeTraceback(PyObject*, PyObject* const* arguments, Py_ssize_t count) {
  if (count != 5 || !PyCode_Check(arguments[1]) || !PyDict_Check(arguments[2])) {
    PyErr_BadInternalCall();
    return nullptr;
  }
  auto* code = reinterpret_cast<PyCodeObject*>(arguments[1]);
  Py_ssize_t offset = PyLong_AsSsize_t(arguments[3]);
  if (offset < 0 || offset >= Py_SIZE(code) * static_cast<Py_ssize_t>(sizeof(_Py_CODEUNIT))) {
    if (!PyErr_Occurred()) PyErr_BadInternalCall();
    return nullptr;
  }
  PyFrameObject* frame = PyFrame_New(PyThreadState_Get(), code, arguments[2], nullptr);
  if (!frame) return nullptr;
  Ref<> owner = Ref<>::steal(reinterpret_cast<PyObject*>(frame));
  // As where a frame has ended: its line is that of the instruction.
  frame->f_frame->prev_instr =
      _PyCode_CODE(code) + offset / static_cast<Py_ssize_t>(sizeof(_Py_CODEUNIT));
  return PyObject_CallFunction(reinterpret_cast<PyObject*>(&PyTraceBack_Type), "OOOO", arguments[0],
                               owner.get(), arguments[3], arguments[4]);
}

}  // namespace

PyObject* makeTracebackFunction() {
  static PyMethodDef method = {"make_traceback", asMethod(makeTraceback), METH_FASTCALL, nullptr};
  static PyObject* const function = PyCFunction_New(&method, nullptr);
  return function;
}

}  // namespace armature::cpython
