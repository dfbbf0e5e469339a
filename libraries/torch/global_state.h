// torch's global state, as far as traces depend on it: what TorchDynamo's GlobalStateGuard,
// GRAD_MODE, DETERMINISTIC_ALGORITHMS, DEFAULT_DEVICE and TORCH_FUNCTION_STATE look at.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace armature {

// Modes of the thread, which ThreadWords shows too.
#define TORCH_MODES(SETTING)    \
  SETTING(grad_mode)            \
  SETTING(inference_mode)       \
  SETTING(autocast_cpu)         \
  SETTING(autocast_cuda)        \
  SETTING(autocast_devices)     \
  SETTING(jit_tracing)          \
  SETTING(torch_function)       \
  SETTING(torch_function_modes) \
  SETTING(function_mode_kinds)  \
  SETTING(torch_dispatch_modes)

// What operations may depend on.
#define TORCH_OPTIONS(SETTING)      \
  SETTING(autocast_cpu_dtype)       \
  SETTING(autocast_cuda_dtype)      \
  SETTING(autocast_cache)           \
  SETTING(default_dtype)            \
  SETTING(default_device)           \
  SETTING(deterministic_algorithms) \
  SETTING(deterministic_warn_only)  \
  SETTING(fp32_precision)           \
  SETTING(fp16_reduced_precision)   \
  SETTING(bf16_reduced_precision)   \
  SETTING(num_threads)

// What matters only to programs that ask for it.
#define TORCH_ASKED(SETTING)      \
  SETTING(autocast_device_dtypes) \
  SETTING(anomaly_mode)           \
  SETTING(anomaly_check_nan)      \
  SETTING(warn_always)            \
  SETTING(num_interop_threads)    \
  SETTING(flash_sdp)              \
  SETTING(math_sdp)               \
  SETTING(mem_efficient_sdp)      \
  SETTING(cudnn_sdp)              \
  SETTING(overrideable_sdp)       \
  SETTING(math_sdp_reduction)     \
  SETTING(cudnn_enabled)          \
  SETTING(cudnn_benchmark)        \
  SETTING(cudnn_deterministic)    \
  SETTING(mkldnn_enabled)         \
  SETTING(cuda_device)            \
  SETTING(cuda_initialized)       \
  SETTING(onnx_export)            \
  SETTING(process_group)          \
  SETTING(transform_levels)

enum class TorchSetting : uint8_t {
#define SETTING(name) name,
  TORCH_MODES(SETTING) TORCH_OPTIONS(SETTING) TORCH_ASKED(SETTING)
#undef SETTING
};

constexpr uint64_t settingBit(TorchSetting setting) {
  return uint64_t{1} << static_cast<unsigned>(setting);
}

// Does a TorchDispatchMode see the operations of this thread?
bool dispatchModesAreActive();
// Does a mode of the program, of either kind, see the operations of this thread? A default device
// is no such mode.
bool programModesAreActive();

// The names of the settings whose bits are set.
std::vector<const char*> torchSettingNames(uint64_t settings);

// The state now, as bytes: all modes and options, and of the others those whose bits are in
// `asked`. Only to be given to the functions below, in the same process.
std::string captureTorchState(uint64_t asked);
bool torchStateMatches(const std::string& state);
// "grad_mode: expected True, found False; …"; empty if nothing differs.
std::string explainTorchState(const std::string& state);

// Finds the ways to read the state, and verifies them against torch's Python interface. Called when
// torch is registered.
void prepareTorchState();

}  // namespace armature
