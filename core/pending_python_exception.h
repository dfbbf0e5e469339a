// Thrown through C++ when Python code must see the exception that is set in the thread state: an
// interrupt, or an error of the machinery itself. Caught where C++ returns to Python.
#pragma once

#include <Python.h>

namespace armature {

struct PendingPythonException {};

// True if the exception that is set is not an Exception (KeyboardInterrupt, SystemExit) or says
// that memory ran out: then it is not an answer to what was tried, and must reach the program.
inline bool interrupted() {
  PyObject* type = PyErr_Occurred();
  return type && (!PyErr_GivenExceptionMatches(type, PyExc_Exception) ||
                  PyErr_GivenExceptionMatches(type, PyExc_MemoryError));
}

// Clears the exception that is set, if there is one. Throws where interrupted().
inline void clearUnlessInterrupted() {
  if (interrupted()) throw PendingPythonException();
  PyErr_Clear();
}

// Clears the exception that is set, if there is one, where it is an answer. An interrupt (not an
// Exception) is kept, for raiseKept(): nowhere is one lost. Throws nothing, as destructors ask.
void clearException();

// Sets the exception that this thread has kept, if there is one, and says so. Where a translation
// ends, nothing else being set.
bool raiseKept();

}  // namespace armature
