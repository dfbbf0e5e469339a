// Which code object of the program's another one was made of.
#include "bytecode/code.h"
#include "bytecode/native.h"
#include "core/pending_python_exception.h"

namespace armature {

namespace {

native::CodeExtra originals([](void* original) { Py_XDECREF(static_cast<PyObject*>(original)); });

}  // namespace

bool setOriginal(BorrowedRef<PyCodeObject> made, BorrowedRef<PyCodeObject> original) {
  auto* object = reinterpret_cast<PyObject*>(original.get());
  if (!originals.set(made, object)) return false;
  Py_INCREF(object);
  return true;
}

BorrowedRef<PyCodeObject> originalOf(BorrowedRef<PyCodeObject> code) {
  void* extra = nullptr;
  if (originals.get(code, &extra) && extra) return static_cast<PyCodeObject*>(extra);
  clearException();
  return code;
}

}  // namespace armature
