// How the mode of a thread that calls of a graph set is read and put back.
#pragma once

#include <Python.h>

#include <cstdint>

namespace armature {

// Both functions are borrowed, and there for ever.
struct ModeState {
  PyObject* get = nullptr;  // called without arguments
  PyObject* set = nullptr;  // called with what that gave
  // Of a library's states, one of greater extent holds all that those of smaller ones hold.
  int32_t extent = 0;
};

}  // namespace armature
