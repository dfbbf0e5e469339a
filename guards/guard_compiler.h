// From a tree of guards to the program that checks them.
#pragma once

#include <memory>
#include <vector>

#include "guards/guard_program.h"
#include "guards/guard_tree.h"

namespace armature {

// `captures`: as given to the tree.
// Throws std::invalid_argument for guards and sources that cannot be compiled.
std::unique_ptr<GuardProgram> compileGuards(GuardTree& tree,
                                            const std::vector<const Source*>& captures);

}  // namespace armature
