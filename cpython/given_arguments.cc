#include "cpython/given_arguments.h"

#include <functional>

#define Py_BUILD_CORE 1
#include <internal/pycore_frame.h>
#undef Py_BUILD_CORE

namespace armature::cpython {

bool areGivenUp(PyObject* const* arguments) {
  _PyInterpreterFrame* frame = PyThreadState_Get()->cframe->current_frame;
  if (!frame) return false;
  PyObject* const* stack = _PyFrame_Stackbase(frame);
  std::less_equal<PyObject* const*> isNotBehind;
  return isNotBehind(stack, arguments) &&
         !isNotBehind(stack + frame->f_code->co_stacksize, arguments);
}

Ref<> takeArgument(PyObject* const* argument) {
  PyObject** place = const_cast<PyObject**>(argument);
  Ref<> taken = Ref<>::steal(*place);
  *place = Py_NewRef(Py_None);
  return taken;
}

namespace {

// Takes its argument; was that the last reference?
PyObject* take(PyObject*, PyObject* const* arguments, Py_ssize_t count) {
  if (count != 1 || !areGivenUp(arguments)) Py_RETURN_FALSE;
  return PyBool_FromLong(Py_REFCNT(takeArgument(arguments).get()) == 1);
}

PyMethodDef takeMethod = {"take", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(take)),
                          METH_FASTCALL, nullptr};

}  // namespace

bool argumentsAreTaken() {
  Ref<> function = Ref<>::steal(PyCFunction_New(&takeMethod, nullptr));
  Ref<> names = function ? Ref<>::steal(PyDict_New()) : nullptr;
  if (!names || PyDict_SetItemString(names.get(), "take", function.get()) < 0 ||
      PyDict_SetItemString(names.get(), "__builtins__", PyEval_GetBuiltins()) < 0) {
    return false;
  }
  // The second is held by a local, the third by a tuple, whose items are nobody's to take.
  constexpr const char* kProgram =
      "def f():\n"
      "    held = []\n"
      "    return [take([]), take(held), take(*[[]]), held] == [True, False, False, []]\n"
      "results = [f() for _ in range(20)]";
  Ref<> made = Ref<>::steal(PyRun_String(kProgram, Py_file_input, names.get(), names.get()));
  PyObject* results = made ? PyDict_GetItemString(names.get(), "results") : nullptr;
  if (!results) return false;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(results); ++i) {
    if (PyList_GET_ITEM(results, i) != Py_True) return false;
  }
  PyObject* own[] = {results};
  return !areGivenUp(own);
}

}  // namespace armature::cpython
