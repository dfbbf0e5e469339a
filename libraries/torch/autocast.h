// torch.autocast as a trace follows it.
#pragma once

#include <cstdint>
#include <optional>

#include "libraries/torch/regions.h"
#include "variables/library.h"

namespace armature {

class ModeScope;

// What torch's queries depend on (settingBit) that regions change.
uint64_t autocastSettings();

// Enters the regions of autocast that a mode is in. Without `keepsCache`, none of them keeps what
// it casts, so that no stand-in is found in the cache later. False with a Python exception set on
// failure.
bool enterAutocast(ModeScope& scope, uint32_t mode, bool keepsCache);

// Adds to the graph the ends of the regions that it has entered and not left.
void leaveAutocast(Graph& graph);
// The call that enters the region; none if it is of another kind.
std::optional<Library::ModeCall> callIntoAutocast(const Region& region);

// The thread's state as far as regions of these and of inference mode change it, and gradients.
Library::ModeState autocastState();

// Registers how calls of the class are traced. torch must be imported.
void registerAutocast();

}  // namespace armature
