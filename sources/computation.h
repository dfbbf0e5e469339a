// Pure functions of C on one value that varies, with the constants that they are called with.
//
// A computation is a tuple of the function, the place of the value among the arguments, and the
// other arguments: `1.0 - x` is (operator.sub, 1, 1.0). Applied to what isComputedOf() it runs no
// code of the program's.
#pragma once

#include <cstddef>
#include <string>

#include <llvm/ADT/ArrayRef.h>

#include "core/ref.h"

namespace armature {

// `others` are constants, in order.
Ref<> makeComputation(BorrowedRef<> function, size_t place, llvm::ArrayRef<PyObject*> others);

bool sameComputation(BorrowedRef<> a, BorrowedRef<> b);

// int, float, str, and types of C whose instances nothing can change (decimal.Decimal).
bool isComputedOf(PyTypeObject* type);

// len() of an exact instance of a list, dict or other container of C; null for other types, the
// classes of programs among them. Of the container as it is at the start of the call.
Ref<> lengthComputation(PyTypeObject* type);

// What it gives. Null, with no exception set, where the value is not of an exact type of those (of
// a lengthComputation(), of its very type), or the function raises.
Ref<> compute(BorrowedRef<> computation, BorrowedRef<> value);

// "math.log(", ", 2)": what stands before and behind the value.
std::string textBefore(BorrowedRef<> computation);
std::string textBehind(BorrowedRef<> computation);

}  // namespace armature
