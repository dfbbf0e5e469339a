#include "runtime/libraries.h"

#include "cpython/type_lookup.h"
#include "libraries/numpy/array_reader.h"
#include "libraries/numpy/numpy_library.h"
#include "libraries/torch/function_modes.h"
#include "libraries/torch/mode_scope.h"
#include "libraries/torch/module_calls.h"
#include "libraries/torch/tensor_reader.h"
#include "libraries/torch/torch_library.h"

namespace armature {

bool registerLibraries() {
  static bool torch = false, numpy = false;
  if (!torch && TorchModule::get()) {
    // The program's modes are not to hear of what torch is asked.
    ModeScope alone;
    leaveFunctionModes();
    torch = registerTorch() && registerTorchLibrary();
  }
  if (!numpy && !PyErr_Occurred() && registerNumPy() && registerNumPyLibrary()) numpy = true;
  return !PyErr_Occurred();
}

BorrowedRef<> calledFunction(BorrowedRef<> object) {
  static PyObject* const name = PyUnicode_InternFromString("__call__");
  if (BorrowedRef<> forward = forwardOf(object)) return forward;
  return cpython::lookup(Py_TYPE(object.get()), name);
}

}  // namespace armature
