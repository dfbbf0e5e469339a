#include "libraries/torch/queries.h"

#include <algorithm>

#include "libraries/torch/global_state.h"

namespace armature {

namespace {

template <class... Settings>
constexpr uint64_t reads(Settings... settings) {
  return (settingBit(settings) | ... | uint64_t{0});
}

using enum TorchSetting;

std::vector<Query> makeQueries() {
  std::vector<Query> table = {
      // Pure functions of their arguments.
      {"torch._C._log_api_usage_once", reads()},
      {"torch.can_cast", reads()},
      {"torch.functional.broadcast_shapes", reads()},
      {"torch.is_storage", reads()},
      {"torch.promote_types", reads()},
      // What the build and the machine have.
      {"torch._C._accelerator_getAccelerator", reads()},
      {"torch._C._get_privateuse1_backend_name", reads()},
      {"torch._C._is_autocast_available", reads()},
      {"torch._jit_internal.is_scripting", reads()},
      {"torch.accelerator.current_accelerator", reads()},
      {"torch.accelerator.device_count", reads()},
      {"torch.accelerator.is_available", reads()},
      {"torch.backends.cuda.is_built", reads()},
      {"torch.backends.cudnn.is_available", reads()},
      {"torch.backends.cudnn.version", reads()},
      {"torch.backends.mkl.is_available", reads()},
      {"torch.backends.mkldnn.is_available", reads()},
      {"torch._C._mps_is_available", reads()},
      {"torch.backends.mps.is_built", reads()},
      {"torch.backends.openmp.is_available", reads()},
      {"torch.compiled_with_cxx11_abi", reads()},
      {"torch.cpu.is_available", reads()},
      {"torch.cuda.device_count", reads()},
      {"torch.cuda.is_available", reads()},
      {"torch.distributed.is_available", reads()},
      {"torch.is_vulkan_available", reads()},
      {"torch.xpu.is_available", reads()},
      // Modes of the thread.
      {"torch._C._are_functorch_transforms_active", reads(transform_levels)},
      {"torch._C._is_any_autocast_enabled", reads(autocast_devices)},
      {"torch._C._is_torch_function_enabled", reads(torch_function)},
      {"torch._C._is_tracing", reads(jit_tracing)},
      {"torch._C._get_tracing_state", reads(jit_tracing)},
      {"torch._C.is_autocast_cache_enabled", reads(autocast_cache)},
      {"torch._C.is_autocast_cpu_enabled", reads(autocast_cpu)},
      {"torch._C.is_autocast_enabled", reads(autocast_devices)},
      {"torch._C.is_inference_mode_enabled", reads(inference_mode)},
      {"torch._C.get_autocast_cpu_dtype", reads(autocast_cpu_dtype)},
      {"torch._C.get_autocast_dtype", reads(autocast_device_dtypes)},
      {"torch._C.get_autocast_gpu_dtype", reads(autocast_cuda_dtype)},
      {"torch.get_default_device", reads(default_device, function_mode_kinds)},
      {"torch.jit._trace.is_tracing", reads(jit_tracing)},
      {"torch.nn.modules.activation._is_make_fx_tracing", reads(torch_dispatch_modes)},
      // Settings of the process.
      {"torch._C._get_cublas_allow_bf16_reduced_precision_reduction",
       reads(bf16_reduced_precision)},
      {"torch._C._get_cublas_allow_fp16_reduced_precision_reduction",
       reads(fp16_reduced_precision)},
      {"torch._C._get_cublas_allow_tf32", reads(fp32_precision)},
      {"torch._C._get_cudnn_benchmark", reads(cudnn_benchmark)},
      {"torch._C._get_cudnn_deterministic", reads(cudnn_deterministic)},
      {"torch._C._get_cudnn_enabled", reads(cudnn_enabled)},
      {"torch._C._get_cudnn_sdp_enabled", reads(cudnn_sdp)},
      {"torch._C._get_deterministic_algorithms", reads(deterministic_algorithms)},
      {"torch._C._get_deterministic_algorithms_warn_only", reads(deterministic_warn_only)},
      {"torch._C._get_flash_sdp_enabled", reads(flash_sdp)},
      {"torch._C._get_float32_matmul_precision", reads(fp32_precision)},
      {"torch._C._get_math_sdp_allow_fp16_bf16_reduction", reads(math_sdp_reduction)},
      {"torch._C._get_math_sdp_enabled", reads(math_sdp)},
      {"torch._C._get_mem_efficient_sdp_enabled", reads(mem_efficient_sdp)},
      {"torch._C._get_mkldnn_enabled", reads(mkldnn_enabled)},
      {"torch._C._get_overrideable_sdp_enabled", reads(overrideable_sdp)},
      {"torch._C._get_warnAlways", reads(warn_always)},
      {"torch._C.get_default_dtype", reads(default_dtype)},
      {"torch._C.get_num_interop_threads", reads(num_interop_threads)},
      {"torch._C.get_num_threads", reads(num_threads)},
      {"torch._C.is_anomaly_check_nan_enabled", reads(anomaly_check_nan)},
      {"torch._C.is_anomaly_enabled", reads(anomaly_mode)},
      {"torch.backends.cuda.cudnn_sdp_enabled", reads(cudnn_sdp)},
      {"torch.backends.cuda.flash_sdp_enabled", reads(flash_sdp)},
      {"torch.backends.cuda.fp16_bf16_reduction_math_sdp_allowed", reads(math_sdp_reduction)},
      {"torch.backends.cuda.math_sdp_enabled", reads(math_sdp)},
      {"torch.backends.cuda.mem_efficient_sdp_enabled", reads(mem_efficient_sdp)},
      {"torch.onnx.is_in_onnx_export", reads(onnx_export)},
      // The device that the program is on, and the processes that it is one of.
      {"torch.cuda.current_device", reads(cuda_device)},
      {"torch.cuda.get_device_capability", reads(cuda_device)},
      {"torch.cuda.get_device_properties", reads(cuda_device)},
      {"torch.cuda.is_bf16_supported", reads(cuda_device)},
      {"torch.cuda.is_initialized", reads(cuda_initialized)},
      {"torch.distributed.distributed_c10d.get_rank", reads(process_group)},
      {"torch.distributed.distributed_c10d.get_world_size", reads(process_group)},
      {"torch.distributed.distributed_c10d.is_initialized", reads(process_group)},
  };
  std::ranges::sort(table, {}, &Query::name);
  return table;
}

}  // namespace

const std::vector<Query>& queries() {
  static const auto& table = *new std::vector<Query>(makeQueries());
  return table;
}

const Query* findQuery(std::string_view name) {
  auto found = std::ranges::lower_bound(queries(), name, {}, &Query::name);
  return found != queries().end() && found->name == name ? &*found : nullptr;
}

}  // namespace armature
