// torch.no_grad and its like, as context managers that the trace models.
#pragma once

namespace armature {

// Registers how calls of these classes are traced. torch must be imported.
void registerGradModes();

}  // namespace armature
