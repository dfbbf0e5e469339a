// Python code that is never captured by itself, when Python calls it.
#pragma once

#include <Python.h>

#include "core/ref.h"

namespace armature {

// True for code of the standard library, of array libraries and of compilers, where nothing of the
// program's own is computed: what TorchDynamo's rules (trace_rules.py) call skipped files. It is
// still inlined where captured code calls it. Goes by the file of the code.
bool isSkippedCode(BorrowedRef<PyCodeObject> code);

}  // namespace armature
