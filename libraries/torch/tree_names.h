// Names that TorchDynamo gives the arrays in trees of containers.
#pragma once

#include "variables/translator.h"

namespace armature {

// Gives the arrays in a result the names of the variables in torch.utils._pytree that TorchDynamo
// sees them in: of all parts, or of the values of dicts. Null: none.
void nameParts(Translator& translator, const Value& value, PyObject* ofParts, PyObject* ofValues);

}  // namespace armature
