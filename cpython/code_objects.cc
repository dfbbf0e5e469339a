#include "cpython/code_objects.h"

#include <cstring>

namespace armature::cpython {

namespace {

PyCodeObject* asCode(BorrowedRef<> object) { return reinterpret_cast<PyCodeObject*>(object.get()); }

bool sameText(PyObject* a, PyObject* b) { return a == b || PyUnicode_Compare(a, b) == 0; }

bool sameNames(PyObject* a, PyObject* b) {
  if (a == b) return true;
  if (PyTuple_GET_SIZE(a) != PyTuple_GET_SIZE(b)) return false;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(a); ++i) {
    if (!sameText(PyTuple_GET_ITEM(a, i), PyTuple_GET_ITEM(b, i))) return false;
  }
  return true;
}

bool sameBytes(PyObject* a, PyObject* b) {
  Py_ssize_t size = PyBytes_GET_SIZE(a);
  return a == b || (size == PyBytes_GET_SIZE(b) &&
                    std::memcmp(PyBytes_AS_STRING(a), PyBytes_AS_STRING(b), size) == 0);
}

// Code that has not run is as it was compiled. Of code that has, CPython makes a copy without what
// it specialized, and keeps it.
bool sameInstructions(PyCodeObject* a, PyCodeObject* b) {
  if (Py_SIZE(a) != Py_SIZE(b)) return false;
  size_t size = static_cast<size_t>(Py_SIZE(a)) * sizeof(_Py_CODEUNIT);
  if (std::memcmp(_PyCode_CODE(a), _PyCode_CODE(b), size) == 0) return true;
  Ref<> plainA = Ref<>::steal(PyCode_GetCode(a));
  Ref<> plainB = plainA ? Ref<>::steal(PyCode_GetCode(b)) : nullptr;
  if (!plainB) {
    PyErr_Clear();  // no memory
    return false;
  }
  return sameBytes(plainA.get(), plainB.get());
}

}  // namespace

bool sameCodeButConstants(BorrowedRef<> first, BorrowedRef<> second) {
  PyCodeObject *a = asCode(first), *b = asCode(second);
  return a->co_firstlineno == b->co_firstlineno && a->co_argcount == b->co_argcount &&
         a->co_posonlyargcount == b->co_posonlyargcount &&
         a->co_kwonlyargcount == b->co_kwonlyargcount && a->co_flags == b->co_flags &&
         a->co_stacksize == b->co_stacksize && sameText(a->co_name, b->co_name) &&
         sameText(a->co_qualname, b->co_qualname) && sameText(a->co_filename, b->co_filename) &&
         sameNames(a->co_names, b->co_names) &&
         sameNames(a->co_localsplusnames, b->co_localsplusnames) &&
         sameBytes(a->co_localspluskinds, b->co_localspluskinds) &&
         sameBytes(a->co_linetable, b->co_linetable) &&
         sameBytes(a->co_exceptiontable, b->co_exceptiontable) && sameInstructions(a, b);
}

PyObject* constantsOf(BorrowedRef<> code) { return asCode(code)->co_consts; }

PyObject* localName(BorrowedRef<> code, size_t local) {
  return PyTuple_GET_ITEM(asCode(code)->co_localsplusnames, static_cast<Py_ssize_t>(local));
}

}  // namespace armature::cpython
