#include "core/pending_python_exception.h"

namespace armature {

namespace {

// Owned; not destroyed with the thread, which may not hold the GIL by then.
thread_local PyObject* keptException = nullptr;

}  // namespace

void clearException() {
  PyObject* raised = PyErr_Occurred();
  if (!raised) return;
  bool isAnswer = PyErr_GivenExceptionMatches(raised, PyExc_Exception) ||
                  PyErr_GivenExceptionMatches(raised, PyExc_GeneratorExit);
  if (isAnswer || keptException) return PyErr_Clear();
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  PyErr_NormalizeException(&type, &value, &traceback);
  if (value && traceback) PyException_SetTraceback(value, traceback);
  keptException = value;
  Py_XDECREF(type);
  Py_XDECREF(traceback);
}

bool raiseKept() {
  if (!keptException) return false;
  PyObject* value = keptException;
  keptException = nullptr;
  PyErr_Restore(Py_NewRef(Py_TYPE(value)), value, PyException_GetTraceback(value));
  return true;
}

}  // namespace armature
