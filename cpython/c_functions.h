// Functions and methods that are written in C: the definitions behind their objects.
#pragma once

#include "core/ref.h"

namespace armature::cpython {

// The definition that a builtin function, a bound builtin method, a method descriptor or a class
// method descriptor stands for. It identifies what they do: [].append and list.append have the
// same. Null for all other objects.
inline PyMethodDef* methodDefinition(BorrowedRef<> callable) {
  PyTypeObject* type = Py_TYPE(callable.get());
  if (PyCFunction_Check(callable.get()))
    return reinterpret_cast<PyCFunctionObject*>(callable.get())->m_ml;
  if (type == &PyMethodDescr_Type || type == &PyClassMethodDescr_Type)
    return reinterpret_cast<PyMethodDescrObject*>(callable.get())->d_method;
  return nullptr;
}

// Is it a builtin method that is bound to an object, and the same as that descriptor's?
inline bool isBoundFrom(BorrowedRef<> callable, BorrowedRef<> descriptor) {
  return Py_TYPE(callable.get()) == &PyCFunction_Type &&
         methodDefinition(callable) == methodDefinition(descriptor);
}

// The method descriptor of a static type that a bound builtin method comes from ([].append: that of
// list.append), borrowed; null if it comes from elsewhere. It is the same for the object's whole
// life.
PyObject* descriptorOf(BorrowedRef<> boundMethod);

// What a method descriptor or slot wrapper becomes when it is bound to an object.
inline PyTypeObject* boundType(BorrowedRef<> descriptor) {
  bool isSlotWrapper = Py_TYPE(descriptor.get()) == &PyWrapperDescr_Type;
  return isSlotWrapper ? &_PyMethodWrapper_Type : &PyCFunction_Type;
}

// Is it of a type whose objects hash and compare, in C alone, by what they are bound to and what
// they do: builtin functions (meth_hash, meth_richcompare), and slots bound to an object
// (wrapper_hash, wrapper_richcompare)?
inline bool isFunctionInC(const PyTypeObject* type) {
  return type == &PyCFunction_Type || type == &_PyMethodWrapper_Type;
}

// A builtin function's __module__, borrowed; null if it has none.
inline PyObject* moduleOf(BorrowedRef<> builtinFunction) {
  return reinterpret_cast<PyCFunctionObject*>(builtinFunction.get())->m_module;
}

// For a PyMethodDef: a function of any of the calling conventions that its flags can name.
template <class Function>
PyCFunction asMethod(Function* function) {
  return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function));
}

}  // namespace armature::cpython
