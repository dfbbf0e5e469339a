#include "graph/module_source.h"

#include "core/pending_python_exception.h"
#include "cpython/imported_modules.h"

namespace armature {

namespace {

// The names of files whose code has died. What is kept of them goes when the next module is made:
// at the time of death, somebody may be walking over it.
PyObject* deadFiles() {
  static PyObject* const files = PyList_New(0);
  return files;
}

// A dict: the name of a file, and the weak reference to its code.
PyObject* watchedFiles() {
  static PyObject* const files = PyDict_New();
  return files;
}

PyObject* codeDied(PyObject* file, PyObject*) {
  return PyList_Append(deadFiles(), file) < 0 ? nullptr : Py_NewRef(Py_None);
}

PyMethodDef codeDiedMethod = {"code_died", codeDied, METH_O, nullptr};

// module.attribute, or a null without exception if it is no dict (of another version).
Ref<> dictIn(const char* module, const char* object, const char* attribute) {
  Ref<> value = Ref<>::steal(cpython::importModule(module));
  for (const char* name : {object, attribute}) {
    if (value && name) value = Ref<>::steal(PyObject_GetAttrString(value.get(), name));
  }
  if (!value && PyErr_ExceptionMatches(PyExc_AttributeError)) clearException();
  return value && PyDict_CheckExact(value.get()) ? value : nullptr;
}

bool forget(BorrowedRef<> dict, PyObject* key) {
  if (!dict || !PyDict_Contains(dict, key)) return true;
  return PyDict_DelItem(dict, key) == 0;
}

bool forgetDeadFiles() {
  Ref<> dead = Ref<>::steal(PyList_GetSlice(deadFiles(), 0, PyList_GET_SIZE(deadFiles())));
  if (!dead || PyList_SetSlice(deadFiles(), 0, PyList_GET_SIZE(dead.get()), nullptr) < 0) {
    return false;
  }
  if (PyList_GET_SIZE(dead.get()) == 0) return true;
  Ref<> lines = dictIn("linecache", nullptr, "cache");
  Ref<> texts = dictIn("torch.fx.graph_module", "_loader", "eval_cache");
  if (PyErr_Occurred()) return false;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(dead.get()); ++i) {
    PyObject* file = PyList_GET_ITEM(dead.get(), i);
    if (!forget(watchedFiles(), file) || !forget(lines, file) || !forget(texts, file)) return false;
  }
  return true;
}

}  // namespace

bool keepSourceWithCode(BorrowedRef<> graphModule) {
  if (!deadFiles() || !watchedFiles() || !forgetDeadFiles()) return false;
  auto* type = reinterpret_cast<PyObject*>(Py_TYPE(graphModule.get()));
  Ref<> forward = Ref<>::steal(PyObject_GetAttrString(type, "forward"));
  if (!forward) return false;
  if (!PyFunction_Check(forward.get())) return true;
  PyObject* code = PyFunction_GET_CODE(forward.get());
  PyObject* file = reinterpret_cast<PyCodeObject*>(code)->co_filename;
  Ref<> callback = Ref<>::steal(PyCFunction_New(&codeDiedMethod, file));
  if (!callback) return false;
  Ref<> reference = Ref<>::steal(PyWeakref_NewRef(code, callback.get()));
  return reference && PyDict_SetItem(watchedFiles(), file, reference.get()) == 0;
}

}  // namespace armature
