// Exceptions that arrive from outside (an interrupt, no memory) while generated code does what is
// not the program's: calls its graph, makes objects, goes on after a break. The program's handlers
// and context managers have to see them nevertheless; the runtime raises them where the program's
// frame stands, see runtime/resumption.h.
#pragma once

#include "bytecode/assembler.h"
#include "core/ref.h"

namespace armature {

// The code of a handler, with the exception on its stack: returns graphFailure(), and leaves the
// exception to takeInterruption().
void emitInterruption(Assembler& assembler);

// The exception that this thread's generated code has just left so; null if it has not.
Ref<> takeInterruption();
bool isInterrupted();

}  // namespace armature
