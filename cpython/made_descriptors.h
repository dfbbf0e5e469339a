// Descriptors that are made at run time, each with a state of its own.
#pragma once

#include <functional>

#include "core/ref.h"

namespace armature::cpython {

// A read-only attribute of instances of the type, which `read` computes: a new reference, or null
// with an exception set. What `read` holds lives as long as the descriptor. Null with an exception
// set.
Ref<> makeGetter(PyTypeObject* type, const char* name, std::function<PyObject*(PyObject*)> read);

}  // namespace armature::cpython
