// types.SimpleNamespace, which CPython keeps for itself.
#pragma once

#include <Python.h>

namespace armature::cpython {

PyTypeObject* simpleNamespaceType();

}  // namespace armature::cpython
