// torch.profiler.record_function: the names that profilers show for parts of a program.
#pragma once

namespace armature {

// Registers how calls of the class are traced: as TorchDynamo does, ignored, with a warning.
// torch must be imported.
void registerProfilerRanges();

}  // namespace armature
