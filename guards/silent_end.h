// Whether code of the program hears of the end of an object: a finalizer, the callback of a weak
// reference.
#pragma once

#include <Python.h>

#include <llvm/ADT/STLFunctionalExtras.h>
#include <llvm/ADT/SmallVector.h>

#include <vector>

#include "core/ref.h"
#include "guards/frame_locals_mapping.h"

namespace armature {

// How many references to an object the program has; where the frame may let go of its inputs,
// without those of the inputs, any of which may go as well.
using ReferenceCount = llvm::function_ref<Py_ssize_t(PyObject*)>;

// Numbers, ranges' iterators and the like: nobody can hear of their ends, and they lead nowhere.
bool isPlainData(const PyTypeObject* type);

// Who lets go of what.
enum class LettingGo : uint8_t {
  Object,   // an existing object, of one that it refers to
  Content,  // an existing object, of all that it refers to
  Input,    // the frame, of an input; others may have references to it
  Last,     // whoever has the last reference, to it and to what it refers to
  Owned,    // the frame, of an input with generators: see ownedGenerators()
};

// May `object` be let go of without any code of the program hearing of an end: its own, or that of
// what dies with it? False too where very much dies. Where an existing object lets go of one that
// has a finalizer or the like, other references to that are not counted on: they may go as well.
//
// Runs no code of the program, allocates nothing.
bool endsSilently(PyObject* object, LettingGo by, ReferenceCount references);
// The same, by the reference counts, while nothing but the program and the call's inputs hold it.
// Those of the inputs count, but where it is the frame that lets go.
bool endsSilently(PyObject* object, LettingGo by, const FrameLocalsMapping& inputs);

// A step from an object to one that it refers to: the attribute of that name that it keeps itself;
// the slot of a generator's frame; or, without either, the `__self__` of a method.
struct PartStep {
  PyObject* attribute = nullptr;  // borrowed
  int32_t slot = -1;
};
using PartPath = llvm::SmallVector<PartStep, 4>;

// The generators whose ends run code of the program, of which the trace takes care itself: nothing
// refers to them but, on the way from `input`, objects of which that is true as well. Empty, too,
// where another end is heard of if the frame lets go of the input.
std::vector<PartPath> ownedGenerators(PyObject* input, ReferenceCount references);
// The operand of a guard that they are these. Null with an exception set.
Ref<> describePaths(const std::vector<PartPath>& paths);
// Are they? Allocates no object.
bool ownsGenerators(PyObject* input, PyObject* description, const FrameLocalsMapping& inputs);

}  // namespace armature
