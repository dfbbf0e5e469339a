// Conversions between ints and text, which the program can limit (sys.set_int_max_str_digits).
#pragma once

#include <llvm/ADT/ArrayRef.h>
#include <llvm/ADT/STLFunctionalExtras.h>

#include "core/ref.h"

namespace armature {

// What an operation on constants gives that may convert these operands: a new reference, or null
// with an exception set. Throws a GraphBreak where that depends on the limit: where a conversion is
// of more digits than the lowest limit lets through.
PyObject* withinDigitLimit(llvm::ArrayRef<PyObject*> operands,
                           llvm::function_ref<PyObject*()> operation);

}  // namespace armature
