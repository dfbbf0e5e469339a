// product, permutations and combinations of itertools: what they give follows from indexes alone,
// which the real iterator over ranges gives.
#pragma once

#include <utility>
#include <vector>

#include "variables/containers/itertools.h"
#include "variables/functions/builtin_handlers.h"

namespace armature {

std::vector<std::pair<ItertoolsModel*, BuiltinHandler>> combinatorics();

}  // namespace armature
