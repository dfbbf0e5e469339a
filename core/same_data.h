// Is what two objects hold as data the very same: -0.0 is not 0.0, and a nan is a nan of its bits?
//
// Each takes two instances of the type that it names, or of subclasses, whose methods are not
// asked. Nothing here sets an exception.
#pragma once

#include <Python.h>

namespace armature {

bool sameFloat(PyObject* a, PyObject* b);
bool sameComplex(PyObject* a, PyObject* b);
bool sameString(PyObject* a, PyObject* b);
bool sameBytes(PyObject* a, PyObject* b);

// Is it a float or a complex number, or an instance of a subclass, that does not equal itself?
bool isNan(PyObject* object);

}  // namespace armature
