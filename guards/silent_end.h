// Whether code of the program hears of the end of an object: a finalizer, the callback of a weak
// reference.
#pragma once

#include <Python.h>

#include <llvm/ADT/STLFunctionalExtras.h>

#include "guards/frame_locals_mapping.h"

namespace armature {

// How many references to an object the program has; where the frame lets go of an input, without
// those of the inputs, any of which may go as well.
using ReferenceCount = llvm::function_ref<Py_ssize_t(PyObject*)>;

// Who lets go of what.
enum class LettingGo : uint8_t {
  Object,   // an existing object, of one that it refers to
  Content,  // an existing object, of all that it refers to
  Input,    // the frame, of an input; others may have references to it
  Last,     // whoever has the last reference, to it and to what it refers to
};

// May `object` be let go of without any code of the program hearing of an end: its own, or that of
// what dies with it? False too where very much dies. Where an existing object lets go of one that
// has a finalizer or the like, other references to that are not counted on: they may go as well.
//
// Runs no code of the program, allocates nothing.
bool endsSilently(PyObject* object, LettingGo by, ReferenceCount references);
// The same, by the reference counts, while nothing but the program and the call's inputs hold it.
bool endsSilently(PyObject* object, LettingGo by, const FrameLocalsMapping& inputs);

}  // namespace armature
