#include "runtime/libraries.h"

#include "cpython/type_lookup.h"
#include "libraries/numpy/array_reader.h"
#include "libraries/numpy/numpy_library.h"
#include "libraries/torch/compiler_queries.h"
#include "libraries/torch/grad_modes.h"
#include "libraries/torch/tensor_reader.h"
#include "libraries/torch/torch_library.h"
#include "runtime/module_calls.h"

namespace armature {

void registerLibraries() {
  static bool torch = false, numpy = false;
  if (!torch && registerTorch() && registerTorchLibrary()) {
    torch = true;
    registerGradModes();
    registerCompilerQueries();
  }
  if (!numpy && registerNumPy() && registerNumPyLibrary()) numpy = true;
}

BorrowedRef<> calledFunction(BorrowedRef<> object) {
  static PyObject* const name = PyUnicode_InternFromString("__call__");
  if (BorrowedRef<> forward = forwardOf(object)) return forward;
  return cpython::lookup(Py_TYPE(object.get()), name);
}

}  // namespace armature
