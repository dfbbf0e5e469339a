// The Python numbers among the arguments of torch's operations that may vary under one graph: what
// torch makes of them, errors included, depends on nothing but their types.
#pragma once

#include <string_view>

#include "variables/library.h"

namespace armature {

// Is it a function or method of ArrayConventions::onlyTypesOfNumbersMatter?
bool takesAnyNumber(std::string_view name);

// CallRule::smallNumbers of a function or method. torch converts these to the dtype of the result,
// and raises where they are too large for it.
const ArgumentPlaces* placesOfSmallNumbers(std::string_view name);

}  // namespace armature
