// All array libraries that this build knows.
#pragma once

namespace armature {

// Registers those that the process has imported by now, and their data types. Cheap to repeat;
// imports nothing.
void registerLibraries();

}  // namespace armature
