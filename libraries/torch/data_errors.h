// Which operations raise on some data only.
#pragma once

#include <string_view>

namespace armature {

// An operation (or attribute) of this name raises on no data, given that shapes and dtypes fit.
// False for those that look at indices, matrices, probabilities, …, and for all that are not known.
bool raisesOnNoData(std::string_view name);

}  // namespace armature
