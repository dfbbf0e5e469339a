// Modules by their names, past what the program may do with imports. What those that somebody has
// imported hold is read without running code: a module's __getattr__ is not asked.
#pragma once

#include "core/ref.h"

namespace armature::cpython {

// A new reference to the module of that name, which is imported if need be, whatever the program
// has made of builtins.__import__. Null with an ImportError set; also where sys.modules has
// something else than a module there.
PyObject* importModule(const char* module);

// Null, without an exception, if sys.modules has no module of that name.
BorrowedRef<> importedModule(const char* module);

// The module's __dict__; null, without an exception, if it is not imported.
BorrowedRef<> importedVariables(const char* module);

// Null, without an exception, if the module is not imported or has nothing of that name.
BorrowedRef<> importedAttribute(const char* module, const char* name);

// Is it a Python function, defined in that module?
bool isFunctionOf(BorrowedRef<> object, const char* module);

}  // namespace armature::cpython
