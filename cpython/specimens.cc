#include "cpython/specimens.h"

namespace armature::cpython {

Ref<> makeSpecimens(const char* program) {
  Unseen unseen;
  Ref<> names = Ref<>::steal(PyDict_New());
  if (!names || PyDict_SetItemString(names.get(), "__builtins__", PyEval_GetBuiltins()) < 0) {
    return nullptr;
  }
  Ref<> done = Ref<>::steal(PyRun_String(program, Py_file_input, names.get(), names.get()));
  return done ? names : nullptr;
}

}  // namespace armature::cpython
