// Whether code of the program hears of the end of an object: a finalizer, the callback of a weak
// reference.
#pragma once

#include <Python.h>

#include <llvm/ADT/STLFunctionalExtras.h>

#include "guards/frame_locals_mapping.h"

namespace armature {

// How many references to an object the program has.
using ReferenceCount = llvm::function_ref<Py_ssize_t(PyObject*)>;

// Who lets go of what.
enum class LettingGo : uint8_t {
  Object,   // an existing object, of one that it refers to
  Content,  // an existing object, of all that it refers to
  Input,    // the frame, of an input; others may have references to it
  Last,     // whoever has the last reference
};

// May `object` be let go of without any code of the program hearing of an end: its own, or that of
// what dies with it? False too where very much dies. Where an existing object lets go of one that
// has a finalizer or the like, other references to that are not counted on: they may go as well.
//
// Runs no code of the program, allocates nothing. `inputs`: how many inputs of the frame the object
// is.
bool endsSilently(PyObject* object, LettingGo by, size_t inputs, ReferenceCount references);
// The same, by the reference counts, while nothing but the program and the call's inputs hold it.
bool endsSilently(PyObject* object, LettingGo by, const FrameLocalsMapping& inputs);

}  // namespace armature
