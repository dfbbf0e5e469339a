// What armature.compile() returns for a torch.nn.Module or another object with a __call__.
//
// A stand-in, and no subclass: it holds the object, has its attributes, its operators and its
// __class__, and only calls go another way: through a captured form of the function that a call of
// the object comes to, to which `self` is the object itself.
#pragma once

#include <Python.h>

#include "core/ref.h"

namespace armature {

// armature._C.CompiledCallable(original, transform, rebuild)
extern PyTypeObject CompiledCallableType;
// What that makes for an original that is a descriptor: Python asks types whether they have
// __get__.
extern PyTypeObject CompiledDescriptorType;
inline bool isCompiledCallable(PyTypeObject* type) {
  return type == &CompiledCallableType || type == &CompiledDescriptorType;
}

// What an operand of an operator stands for, if it is a CompiledCallable or a method found through
// one, else itself. Borrowed.
PyObject* operandOf(PyObject* object);

// The object that a CompiledCallable stands for, borrowed.
BorrowedRef<> originalOf(BorrowedRef<> compiledCallable);
// What a call of it runs now, with the object first. Null with an exception set.
Ref<> callOf(BorrowedRef<> compiledCallable);
// A dict: all that calls of it have run so far, by the function in whose place it is. Borrowed.
BorrowedRef<> callsOf(BorrowedRef<> compiledCallable);

// Prepares the types and adds the public one to the module. -1 with an exception set.
int addCompiledCallableType(PyObject* module);

}  // namespace armature
