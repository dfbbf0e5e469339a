// Loops of C code that call a Python function for each item (variables/loops.h), over objects: they
// go on to their end where a graph break left one of the calls to Python.
#pragma once

#include <llvm/ADT/ArrayRef.h>

#include "core/ref.h"

namespace armature {

// Each gives what the loop gives, or null with the exception set. `result`: what the call that was
// left to Python gave, null if it raised; the operands are borrowed; `caller` makes calls of Python
// functions, if it is not null.
Ref<> goOnWithKeys(Ref<> result, llvm::ArrayRef<PyObject*> operands, BorrowedRef<> caller);
// endOfIteration() is a result of these, too.
Ref<> goOnWithExtreme(Ref<> result, llvm::ArrayRef<PyObject*> operands, BorrowedRef<> caller);
Ref<> goOnReducing(Ref<> result, llvm::ArrayRef<PyObject*> operands, BorrowedRef<> caller);
Ref<> goOnWithItems(Ref<> result, llvm::ArrayRef<PyObject*> operands, BorrowedRef<> caller);

}  // namespace armature
