// How the builtin part of a new instance of a subclass of list, tuple, set, frozenset, dict or
// functools.partial comes to exist, with the instance.
#pragma once

#include "codegen/py_codegen.h"
#include "interpreter/parts.h"
#include "variables/variable_tracker.h"

namespace armature {

// What has to exist before the instance, as __new__ takes it.
void visitNeeded(Translator& translator, VariableTracker* part, PartVisitor visit);
// What it holds that can be put in later.
void visitHeld(Translator& translator, VariableTracker* part, PartVisitor visit);
// Calls __new__ of the builtin type that the part is of: leaves an instance on the stack.
// `loadClass` loads the class of the instance.
void makeInstance(PyCodegen& codegen, VariableTracker* part, llvm::function_ref<void()> loadClass);
// Puts in what is held.
void fillPart(PyCodegen& codegen, VariableTracker* part);

}  // namespace armature
