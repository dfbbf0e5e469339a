// Between str and bytes: what the program can have a say in (the codecs module).
#pragma once

#include <Python.h>

namespace armature {

struct CallArguments;

// May this call on constants ask a codec or an error handler that the program can register? Not so
// where CPython goes past the registry: with encodings and handlers that it knows by their names
// (PyUnicode_AsEncodedString, PyUnicode_Decode, _Py_GetErrorHandler).
bool asksCodecRegistry(PyObject* callable, const CallArguments& arguments);

}  // namespace armature
