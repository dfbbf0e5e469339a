// Python at hand for the tests of this room.
#pragma once

#include <string>
#include <vector>

#include "bytecode/assembler.h"
#include "bytecode/code.h"

namespace armature::testing {

// Every function fails the test, and returns null, if Python raises.

Ref<> string(const char* text);
Ref<> evaluate(const std::string& expression);
// Runs the source, which is Python's own text, and returns the code object of what it calls `f`.
Ref<PyCodeObject> codeOf(const std::string& source);
// codeOf, lifted.
CodePtr lifted(const std::string& source);
// A function of the code, called with the arguments; its globals have the builtins.
Ref<> call(BorrowedRef<PyCodeObject> code, std::vector<Ref<>> arguments = {});
// lower() where it must succeed.
Ref<PyCodeObject> lowered(const Code& code);
// The message of the ValueError that lower() sets; empty if it doesn't.
std::string lowerError(const Code& code);
// repr()
std::string text(BorrowedRef<> object);
std::string bytes(BorrowedRef<> object);

// Code of the canonical instructions, without arguments; `locals` are plain ones.
Code makeCode(std::vector<Instruction> instructions, std::vector<const char*> locals = {});

}  // namespace armature::testing
