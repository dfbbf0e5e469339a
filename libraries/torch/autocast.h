// torch.autocast as a trace follows it: which regions the graph has entered.
#pragma once

#include <cstdint>

#include "variables/library.h"

namespace armature {

class ModeScope;

// torch's modes (Translator::mode): bit 0 says whether gradients are on; the others are the number
// of the innermost region that the graph has entered, 0 for none.
constexpr bool hasGradients(uint32_t mode) { return mode & 1; }
constexpr bool hasAutocast(uint32_t mode) { return mode > 1; }
constexpr uint32_t withGradients(uint32_t mode, bool enabled) {
  return (mode & ~uint32_t{1}) | enabled;
}

// What torch's queries depend on (settingBit) that regions change.
uint64_t autocastSettings();

// Enters the regions of a mode. Without `keepsCache`, none of them keeps what it casts, so that no
// stand-in is found in the cache later. False with a Python exception set on failure.
bool enterAutocast(ModeScope& scope, uint32_t mode, bool keepsCache);

// The thread's state as far as regions change it, and gradients.
Library::ModeState autocastState();

// Registers how calls of the class are traced. torch must be imported.
void registerAutocast();

}  // namespace armature
