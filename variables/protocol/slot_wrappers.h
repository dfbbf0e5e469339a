// Special methods of builtin types, called by name: list.__len__(x), d.__contains__(key), ….
#pragma once

#include <Python.h>

namespace armature {

// Registers handlers for the slot wrappers (and the special methods written as methods) of a static
// type. Each does what its slot does.
void registerSlotWrappers(PyTypeObject* type);

}  // namespace armature
