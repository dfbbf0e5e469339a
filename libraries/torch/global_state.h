// torch's global state, as far as traces depend on it: what TorchDynamo's GlobalStateGuard,
// GRAD_MODE, DETERMINISTIC_ALGORITHMS, DEFAULT_DEVICE and TORCH_FUNCTION_STATE look at.
#pragma once

#include <string>

namespace armature {

// The state now, as bytes. Only to be given to the functions below, in the same process.
std::string captureTorchState();
bool torchStateMatches(const std::string& state);
// "grad_mode: expected True, found False; …"; empty if nothing differs.
std::string explainTorchState(const std::string& state);

// Finds the ways to read the state, and verifies them against torch's Python interface. Called when
// torch is registered.
void prepareTorchState();

}  // namespace armature
