// What of torch is constant: devices, dtypes, sizes and the like; and how tensors are keys.
#pragma once

#include "libraries/torch/torch_module.h"

namespace armature {

// Sets no exception.
void registerTorchConstants(const TorchModule& torch);

}  // namespace armature
