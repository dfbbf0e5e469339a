// The operators and special methods of a CompiledCallable: those of the object that it stands for.
//
// A type has a slot or has it not, whatever an instance stands for. So each slot asks the original
// as CPython would have, and raises what CPython says of the original's type where that has no such
// method. An operator that returns the original returns the stand-in, as its methods do.
#pragma once

#include <Python.h>

#include <llvm/ADT/ArrayRef.h>

namespace armature {

// repr(), str(), hash() and comparisons, for any type whose instances stand for something.
void setTextAndComparison(PyTypeObject& type);
// All other slots.
void setOperators(PyTypeObject& type);
// The special methods that have no slot.
llvm::ArrayRef<PyMethodDef> specialMethods();

// The metaclass of a type with these. Abstract base classes ask both the __class__ of an object and
// its type for __iter__ and the like: it answers for the first alone, since it shows no special
// methods in the __dict__ of the type.
extern PyTypeObject StandInType;

}  // namespace armature
