// The names of the special methods that operators stand for, interned and immortal.
#pragma once

#include <Python.h>

#include "variables/type_slots.h"

namespace armature {

// By NumberSlot; those of `inPlace` by NumberSlot - nb_inplace_add.
struct OperatorMethods {
  PyObject* plain[nb_inplace_add];      // __add__
  PyObject* reflected[nb_inplace_add];  // __radd__
  PyObject* inPlace[nb_inplace_add];    // __iadd__
};
const OperatorMethods& operatorMethods();

// How binary_op1 writes the operator in its TypeError.
const char* operatorSymbol(NumberSlot slot);

PyObject* unaryMethod(UnarySlot slot);  // __neg__
PyObject* compareMethod(int op);        // Py_LT … Py_GE: __lt__

}  // namespace armature
