// Code objects that the process will run, as against those that are only looked at.
#pragma once

#include "bytecode/code.h"
#include "core/ref.h"

namespace armature {

// lower(), after which every library knows that the code object is ours (Library::disownCode), and
// tracebacks show `shown`, the program's code in whose place it runs; null: the code object itself.
// Null with an exception set, as there.
Ref<PyCodeObject> runnableCode(const Code& code, BorrowedRef<PyCodeObject> shown);

}  // namespace armature
