// Functions by which programs ask whether they are being compiled, or captured by a device.
#pragma once

namespace armature {

// Registers their answers inside a trace. torch must be imported.
void registerCompilerQueries();

}  // namespace armature
