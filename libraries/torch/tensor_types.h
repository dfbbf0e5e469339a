// torch.FloatTensor and its like: objects of torch that stand, like classes, for a dtype and a
// device.
#pragma once

namespace armature {

// Registers how isinstance(x, torch.FloatTensor) is traced. torch must be imported.
void registerTensorTypes();

}  // namespace armature
