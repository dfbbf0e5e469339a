// Objects that show the bytes of their memory.
#pragma once

#include <Python.h>

namespace armature::cpython {

// PyObject_CheckBuffer, of the instances of a type.
inline bool showsBuffer(const PyTypeObject* type) {
  return type->tp_as_buffer && type->tp_as_buffer->bf_getbuffer;
}

}  // namespace armature::cpython
