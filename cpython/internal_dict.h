// CPython's internal header of dicts, for the files of this room alone: the table of keys and the
// array of values that instances of a class keep.
#pragma once

#include <Python.h>

#define Py_BUILD_CORE 1
#include <internal/pycore_dict.h>
#undef Py_BUILD_CORE
