// Functions of torch.nn.functional in whose place eager graphs call C: of what the one spends, most
// is looking up the other (torch._VF finds its functions by an AttributeError that fails;
// torch.backends.cudnn.enabled is a property written in Python).
#pragma once

namespace armature {

// Registers them (graph/eager_code.h). Sets no exception.
void registerEagerFunctions();

}  // namespace armature
