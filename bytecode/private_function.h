// C functions that nothing but bytecode of our making calls.
//
// They trust their arguments: what loads these stands beside the function. Whoever finds one among
// the constants of a code object and calls it gets a TypeError, whatever the arguments are.
#pragma once

#include "core/ref.h"

namespace armature {

// Does bytecode that lower() made run in this thread? If not, a TypeError is set.
bool isCalledByLowered(const char* name);

template <auto function>
inline PyMethodDef privateDefinition = {
    nullptr,
    reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(
        +[](PyObject* self, PyObject* const* arguments, Py_ssize_t count) -> PyObject* {
          if (!isCalledByLowered(privateDefinition<function>.ml_name)) return nullptr;
          return function(self, arguments, count);
        })),
    METH_FASTCALL, nullptr};

// Bound to `self`. Null with an exception set.
template <auto function>
Ref<> boundPrivateFunction(const char* name, BorrowedRef<> self) {
  privateDefinition<function>.ml_name = name;
  return Ref<>::steal(PyCFunction_New(&privateDefinition<function>, self.get()));
}

// Borrowed; there is one for each `function`. Null with an exception set.
template <auto function>
PyObject* privateFunction(const char* name) {
  static PyObject* const made = boundPrivateFunction<function>(name, nullptr).release();
  return made;
}

}  // namespace armature
