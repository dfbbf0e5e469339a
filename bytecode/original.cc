// Which code object of the program's another one was made of.
#include "bytecode/code.h"
#include "bytecode/native.h"

namespace armature {

namespace {

// Called with null for code that has none.
void release(void* original) { Py_XDECREF(static_cast<PyObject*>(original)); }

// The index under which code objects own their original; -1 with an exception set on failure.
Py_ssize_t extraIndex() {
  static Py_ssize_t index = -1;
  if (index < 0 && !native::reserveExtra(&index, release)) index = -1;
  return index;
}

}  // namespace

bool setOriginal(BorrowedRef<PyCodeObject> made, BorrowedRef<PyCodeObject> original) {
  Py_ssize_t index = extraIndex();
  auto* object = reinterpret_cast<PyObject*>(original.get());
  if (index < 0 || !native::setExtra(made, index, object)) return false;
  Py_INCREF(object);
  return true;
}

BorrowedRef<PyCodeObject> originalOf(BorrowedRef<PyCodeObject> code) {
  Py_ssize_t index = extraIndex();
  void* extra = nullptr;
  if (index >= 0 && native::getExtra(code, index, &extra) && extra) {
    return static_cast<PyCodeObject*>(extra);
  }
  PyErr_Clear();
  return code;
}

}  // namespace armature
