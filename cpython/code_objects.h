// Code objects compared as what they are compiled from.
#pragma once

#include "core/ref.h"

namespace armature::cpython {

// Are two code objects the same but for their constants: names, instructions (whatever CPython has
// specialized in them), tables of lines and exceptions? Sets no exception.
bool sameCodeButConstants(BorrowedRef<> a, BorrowedRef<> b);

// The tuple of a code object's constants, borrowed.
PyObject* constantsOf(BorrowedRef<> code);

// The name of the local, argument, cell or free variable of that number (str), borrowed.
PyObject* localName(BorrowedRef<> code, size_t local);

}  // namespace armature::cpython
