#include "runtime/libraries.h"

#include "libraries/numpy/array_reader.h"
#include "libraries/numpy/numpy_library.h"
#include "libraries/torch/compiler_queries.h"
#include "libraries/torch/grad_modes.h"
#include "libraries/torch/tensor_reader.h"
#include "libraries/torch/torch_library.h"
#include "variables/constants/constant.h"

namespace armature {

namespace {

// Types of a library whose instances are immutable data.
void registerDataTypes(const char* moduleName, std::initializer_list<const char*> types) {
  PyObject* module = PyDict_GetItemString(PyImport_GetModuleDict(), moduleName);
  if (!module) return;
  for (const char* name : types) {
    Ref<> type = Ref<>::steal(PyObject_GetAttrString(module, name));
    if (type && PyType_Check(type.get())) {
      registerDataType(reinterpret_cast<PyTypeObject*>(type.get()));
    }
    PyErr_Clear();
  }
}

}  // namespace

void registerLibraries() {
  static bool torch = false, numpy = false;
  if (!torch && registerTorch() && registerTorchLibrary()) {
    torch = true;
    registerDataTypes("torch", {"dtype", "device", "layout", "memory_format", "Size", "qscheme",
                                "finfo", "iinfo"});
    registerGradModes();
    registerCompilerQueries();
  }
  if (!numpy && registerNumPy() && registerNumPyLibrary()) numpy = true;
}

}  // namespace armature
