// Python code that is never captured by itself, when Python calls it.
#pragma once

#include <Python.h>

#include <cstdint>

#include "core/ref.h"

namespace armature {

// Whose code it is, going by its file. Frozen: of the import system.
enum class SkippedCode : uint8_t { No, Frozen, Own, StandardLibrary, Library };

// Code of the standard library, of array libraries and of compilers, where nothing of the program's
// own is computed: what TorchDynamo's rules (trace_rules.py) call skipped files. It is still
// inlined where captured code calls it.
SkippedCode skippedCode(BorrowedRef<PyCodeObject> code);
inline bool isSkippedCode(BorrowedRef<PyCodeObject> code) {
  return skippedCode(code) != SkippedCode::No;
}

}  // namespace armature
