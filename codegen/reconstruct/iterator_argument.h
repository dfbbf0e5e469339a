// Iterators within iterators.
#pragma once

#include "codegen/py_codegen.h"

namespace armature {

// Loads an argument of which a class asks for an iterator, and which gives it this very one, as the
// class has it: the program's own would have its __iter__ run once more, if it has any.
void loadIteratorArgument(PyCodegen& codegen, const Value& iterator);

}  // namespace armature
