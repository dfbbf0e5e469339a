// Nodes that take one result out of several.
#pragma once

#include "variables/translator.h"

namespace armature {

// Adds operator.getitem(node, index), an operation of the library. The caller has recorded that
// the graph grows. Throws GraphBreak.
Node* addItemNode(Translator& translator, const Library& library, Node* node, size_t index);

}  // namespace armature
