// The regions of a program that a graph enters and leaves: torch.autocast, torch.inference_mode,
// the levels of torch.func's transforms, and what comes behind a call that sets something
// (settings.h).
#pragma once

#include <cstdint>
#include <vector>

#include "core/ref.h"
#include "graph/mode_state.h"

namespace armature {

class ModeScope;

enum class RegionKind : uint8_t {
  Autocast,  // settings: device, whether it is enabled, dtype, whether what was cast is kept
  // Levels of torch.func. Their settings are what the function that enters them is given.
  Grad,
  Vmap,
  Jvp,
  Dual,  // a level of forward-mode differentiation, inside Jvp
  Setting,
  Inference,  // settings: whether it is enabled
};

// Of the states that regions change (ModeState::extent).
enum StateExtent : int32_t { kGradientExtent, kInferenceExtent, kAutocastExtent, kTransformExtent };

struct Region {
  uint32_t outer = 0;  // the number of the region around it; 0 for none
  RegionKind kind = RegionKind::Autocast;
  // What tells apart regions that are otherwise equal: an array of one level is none of another.
  int32_t instance = 0;
  std::vector<Ref<>> settings;
};

// A state that these two read and put back, for good.
ModeState makeModeState(PyCFunction get, PyCFunction set, StateExtent extent);

// torch's modes (Translator::mode): bit 0 says whether gradients are on; the others are the number
// of the innermost region that the graph has entered, 0 for none.
constexpr bool hasGradients(uint32_t mode) { return mode & 1; }
constexpr uint32_t withGradients(uint32_t mode, bool enabled) {
  return (mode & ~uint32_t{1}) | enabled;
}
constexpr uint32_t regionOf(uint32_t mode) { return mode >> 1; }

// Numbers of regions are given once, and stay as long as the process.
uint32_t numberOf(Region region);
const Region& regionAt(uint32_t number);
// The numbers of all regions that a mode is in, the outermost first.
std::vector<uint32_t> regionsOf(uint32_t mode);

bool hasAutocast(uint32_t mode);
bool hasSetting(uint32_t mode);
bool hasInferenceMode(uint32_t mode);
// Is it inside of a transform of torch.func?
bool hasTransform(uint32_t mode);
bool isTransform(const Region& region);

}  // namespace armature
