// The locals of a frame that is about to start, by index of fast local.
#pragma once

#include <Python.h>

#include <llvm/ADT/SmallVector.h>

#include <cstddef>

#include "core/ref.h"

namespace armature {

// Captures that a check of guards has made, and that nothing else holds.
using Pins = llvm::SmallVector<Ref<>, 4>;

// A view: the caller owns the array and keeps the objects alive. Slots that the call does not bind
// are null. Cells that the frame receives (closure, cells handed to a resume function) stand in
// the array as cell objects; `isCell[i]` says so, and get() looks through them.
struct FrameLocalsMapping {
  PyObject* const* slots = nullptr;
  const bool* isCell = nullptr;
  size_t count = 0;
  // The call is still being traced: reference counts tell of the trace's own references, too, so
  // that what was asked of them then cannot be asked again.
  bool isTraced = false;

  // The local as the program sees it; null if unbound or an empty cell.
  PyObject* get(size_t index) const {
    PyObject* slot = slots[index];
    return isCell[index] && slot ? PyCell_GET(slot) : slot;
  }
  PyObject* cell(size_t index) const { return slots[index]; }
};

}  // namespace armature
