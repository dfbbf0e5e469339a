#include "runtime/libraries.h"

#include "libraries/numpy/array_reader.h"
#include "libraries/numpy/numpy_library.h"
#include "libraries/torch/compiler_queries.h"
#include "libraries/torch/grad_modes.h"
#include "libraries/torch/tensor_reader.h"
#include "libraries/torch/torch_library.h"

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

}  // namespace armature
