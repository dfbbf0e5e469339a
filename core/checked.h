// Results of CPython's functions that cannot be used unchecked.
//
// Where a failure means nothing to the traced program (no memory, an interrupt, an error of ours),
// it leaves as a PendingPythonException. Errors that the program is to see are looked at where they
// arise: Translator::fromPython.
#pragma once

#include "core/fault_injection.h"
#include "core/pending_python_exception.h"
#include "core/ref.h"

namespace armature {

// A new reference; throws where there is none.
template <class T = PyObject>
Ref<T> checked(T* newReference) {
  if (!newReference) throw PendingPythonException();
  Ref<T> result = Ref<T>::steal(newReference);
  faultSite(FaultSite::CheckedResult);
  return result;
}

// An int that is negative, with an exception set, on failure.
inline Py_ssize_t checked(Py_ssize_t result) {
  if (result < 0) throw PendingPythonException();
  faultSite(FaultSite::CheckedResult);
  return result;
}
inline int checked(int result) { return static_cast<int>(checked(Py_ssize_t{result})); }

// An interned name that lives as long as the process, for static variables: where memory runs out,
// it throws, and the next use tries again.
inline PyObject* staticName(const char* name) {
  return checked(PyUnicode_InternFromString(name)).release();
}

}  // namespace armature
