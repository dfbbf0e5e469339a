// Methods of torch's classes that are written in Python, in whose place a program can put others.
#pragma once

#include <llvm/ADT/ArrayRef.h>

#include "variables/translator.h"

namespace armature {

// The member of a property, staticmethod or classmethod that is its function; of another attribute,
// the attribute.
PyObject* functionOf(PyObject* attribute);

// Has the class under these names, which are interned, what torch has given it: functions that
// stand in torch's files, or what it inherits from object? Guards what is found.
bool hasOwnMethods(Translator& translator, PyTypeObject* type, llvm::ArrayRef<PyObject*> names);

}  // namespace armature
