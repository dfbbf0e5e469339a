// Effects that are calls: EffectKind::Call.
#pragma once

#include "codegen/py_codegen.h"
#include "interpreter/parts.h"

namespace armature {

// The values that the call takes, and what it gives.
void visitCall(const Effect& effect, PartVisitor visit);
// Makes the call; its result is from then on what it stands for.
void replayCall(PyCodegen& codegen, const Effect& effect);

}  // namespace armature
