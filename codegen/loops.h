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
Ref<> goOnWithOrder(Ref<> result, llvm::ArrayRef<PyObject*> operands, BorrowedRef<> caller);
Ref<> goOnSearching(Ref<> result, llvm::ArrayRef<PyObject*> operands, BorrowedRef<> caller);
Ref<> goOnWithClasses(Ref<> result, llvm::ArrayRef<PyObject*> operands);
// endOfIteration() is a result of these, too.
Ref<> goOnWithExtreme(Ref<> result, llvm::ArrayRef<PyObject*> operands, BorrowedRef<> caller);
Ref<> goOnReducing(Ref<> result, llvm::ArrayRef<PyObject*> operands, BorrowedRef<> caller);
Ref<> goOnWithItems(Ref<> result, llvm::ArrayRef<PyObject*> operands, BorrowedRef<> caller);
// The call with the list of arguments that was made: see OnReturn::CallStarred.
Ref<> callStarred(PyObject* list, llvm::ArrayRef<PyObject*> operands, BorrowedRef<> caller);

// A call by `caller`, if it is not null.
Ref<> callBy(BorrowedRef<> caller, PyObject* function, llvm::ArrayRef<PyObject*> arguments);
// PyIter_Next, in which map calls its function by `caller`. At the end, null without an exception.
Ref<> nextOf(PyObject* iterator, BorrowedRef<> caller);

}  // namespace armature
