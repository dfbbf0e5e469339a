#include "libraries/torch/metadata_rules.h"

namespace armature {

bool applyMetadataRule(const Node&, InputStructures, ResultStructure&) { return false; }

}  // namespace armature
