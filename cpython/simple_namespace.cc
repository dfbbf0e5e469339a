#include "cpython/simple_namespace.h"

#define Py_BUILD_CORE 1
#include <internal/pycore_namespace.h>
#undef Py_BUILD_CORE

namespace armature::cpython {

PyTypeObject* simpleNamespaceType() { return &_PyNamespace_Type; }

}  // namespace armature::cpython
