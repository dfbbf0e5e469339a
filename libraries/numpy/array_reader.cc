#include "libraries/numpy/array_reader.h"

namespace armature {

bool registerNumPy() { return false; }

}  // namespace armature
