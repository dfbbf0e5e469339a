// NumPy for the guards: reads arrays' metadata from their C structure, without NumPy's headers.
#pragma once

#include "guards/array_library.h"

namespace armature {

// Registers NumPy with the guards if Python has imported it; true if it is registered. Cheap when
// there is nothing to do; sets no exception; never imports NumPy.
bool registerNumPy();

}  // namespace armature
