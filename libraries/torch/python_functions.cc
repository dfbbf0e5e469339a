#include "libraries/torch/python_functions.h"

#include <algorithm>
#include <array>
#include <string>

#include "libraries/torch/operator_names.h"

namespace armature {

namespace {

struct NamedRule {
  std::string_view name;
  CallKind kind;
  const char* reason = "";
};

constexpr const char* kGlobalState = "it sets state that outlives the call";
constexpr const char* kRandomState = "it reads or sets the state of a random number generator";
constexpr const char* kAutograd = "it runs or changes the autograd graph";
constexpr const char* kCompiler = "it belongs to a compiler, which is not traced";
constexpr const char* kInputOutput = "it reads or writes files";
constexpr const char* kProcesses = "it talks to other processes";
constexpr const char* kTransforms = "this function transform is not supported";
constexpr const char* kDevices = "it looks at or changes the state of a device";
constexpr const char* kReadsData = "its result depends on the data of a tensor";

// Functions that differ from the rest of their module.
constexpr std::array kFunctions = {
    // torch
    NamedRule{"torch.compile", CallKind::Unsupported, kCompiler},
    NamedRule{"torch.while_loop", CallKind::Unsupported, kTransforms},
    // A mode, which is entered and left.
    NamedRule{"torch.set_default_device", CallKind::Inline},
    // What they call in torch._C is traced (settings.h).
    NamedRule{"torch.set_default_dtype", CallKind::Inline},
    NamedRule{"torch.use_deterministic_algorithms", CallKind::Inline},
    NamedRule{"torch.set_default_tensor_type", CallKind::Unsupported, kGlobalState},
    NamedRule{"torch.set_deterministic_debug_mode", CallKind::Unsupported, kGlobalState},
    NamedRule{"torch.set_float32_matmul_precision", CallKind::Unsupported, kGlobalState},
    NamedRule{"torch.set_warn_always", CallKind::Unsupported, kGlobalState},
    // They read what decides, a flag of their module, themselves.
    NamedRule{"torch.fx._symbolic_trace.is_fx_symbolic_tracing", CallKind::Inline},
    NamedRule{"torch._dynamo.external_utils.is_compiling", CallKind::Inline},
    // They stand in the graphs of compiled autograd, for a tracer to look into.
    NamedRule{"torch._dynamo.external_utils.call_hook", CallKind::Inline},
    NamedRule{"torch._dynamo.external_utils.unwrap_maybe_dynamic_int", CallKind::Inline},
    NamedRule{"torch.compiler.is_exporting", CallKind::Inline},
    NamedRule{"torch._library.custom_ops.custom_op", CallKind::Unsupported, kGlobalState},
    NamedRule{"torch.backends.mha.get_fastpath_enabled", CallKind::Inline},
    NamedRule{"torch.jit._script._unwrap_optional", CallKind::Inline},
    NamedRule{"torch.jit.annotate", CallKind::Inline},
    NamedRule{"torch.utils._contextlib.context_decorator", CallKind::Inline},
    // torch.functional
    NamedRule{"torch.functional.unique", CallKind::Unsupported, kReadsData},
    NamedRule{"torch.functional.unique_consecutive", CallKind::Unsupported, kReadsData},
    NamedRule{"torch.functional.handle_torch_function", CallKind::Inline},
    // torch.nn.functional: TorchDynamo's exceptions.
    NamedRule{"torch.nn.functional.grouped_mm", CallKind::Inline},
    NamedRule{"torch.nn.functional.linear_cross_entropy", CallKind::Inline},
    NamedRule{"torch.nn.functional.lp_pool3d", CallKind::Inline},
    NamedRule{"torch.nn.functional.pad", CallKind::Inline},
    NamedRule{"torch.nn.functional.rms_norm", CallKind::Inline},
    NamedRule{"torch.nn.functional.scaled_grouped_mm", CallKind::Inline},
    NamedRule{"torch.nn.functional.scaled_mm", CallKind::Inline},
    NamedRule{"torch.nn.functional.threshold", CallKind::Inline},
    NamedRule{"torch.nn.functional.triplet_margin_with_distance_loss", CallKind::Inline},
    NamedRule{"torch.nn.utils.rnn.pack_padded_sequence", CallKind::Unsupported, kReadsData},
    NamedRule{"torch.nn.utils.rnn.pad_packed_sequence", CallKind::Unsupported, kReadsData},
    // Methods of torch.Tensor.
    NamedRule{"torch.Tensor.split", CallKind::GraphOperation},
    NamedRule{"torch.Tensor.backward", CallKind::Unsupported, kAutograd},
};

// Methods and functions that a call made: they have no name but that of their code.
struct CodeRule {
  std::string_view module;
  std::string_view qualifiedName;
  CallKind kind;
};

constexpr std::array kCode = {
    // Of a range that was entered in a trace, it does nothing.
    CodeRule{"torch.autograd.profiler", "record_function.__exit__", CallKind::Inline},
    // It calls the method that it wraps, unless torch.export looks on.
    CodeRule{"torch._export.wrappers", "allow_in_pre_dispatch_graph.<locals>.wrapper",
             CallKind::Inline},
    // A call of a GraphModule is one of its forward.
    CodeRule{"torch.fx.graph_module", "GraphModule.recompile.<locals>.call_wrapped",
             CallKind::Inline},
    CodeRule{"torch.fx.graph_module", "_WrappedCall.__call__", CallKind::Inline},
    // It asks for one setting or another, by the attribute's name.
    CodeRule{"torch.backends.cuda", "cuBLASModule.__getattr__", CallKind::Inline},
    // It calls the function that it wraps, unless torch.jit.trace() looks on.
    CodeRule{"torch.jit._trace", "_script_if_tracing.<locals>.wrapper", CallKind::Inline},
};

struct ModuleRule {
  std::string_view prefix;
  CallKind kind;
  const char* reason = "";
};

// Whole modules and what is below them; the first that fits decides. All others are inlined.
constexpr std::array kModules = {
    ModuleRule{"torch.nn.functional", CallKind::GraphOperation},
    ModuleRule{"torch.functional", CallKind::GraphOperation},
    ModuleRule{"torch.nn.grad", CallKind::GraphOperation},
    ModuleRule{"torch.masked", CallKind::GraphOperation},
    ModuleRule{"torch.signal.windows", CallKind::GraphOperation},
    ModuleRule{"torch._lowrank", CallKind::GraphOperation},
    ModuleRule{"torch._linalg_utils", CallKind::GraphOperation},
    ModuleRule{"torch.random", CallKind::Unsupported, kRandomState},
    ModuleRule{"torch.cuda.random", CallKind::Unsupported, kRandomState},
    ModuleRule{"torch.xpu.random", CallKind::Unsupported, kRandomState},
    ModuleRule{"torch.mps", CallKind::Unsupported, kDevices},
    ModuleRule{"torch.cuda.amp", CallKind::Inline},
    ModuleRule{"torch.cuda", CallKind::Unsupported, kDevices},
    ModuleRule{"torch.xpu", CallKind::Unsupported, kDevices},
    ModuleRule{"torch.mtia", CallKind::Unsupported, kDevices},
    ModuleRule{"torch.accelerator", CallKind::Unsupported, kDevices},
    ModuleRule{"torch.autograd.function", CallKind::Inline},
    ModuleRule{"torch.autograd.grad_mode", CallKind::Inline},
    ModuleRule{"torch.autograd.forward_ad", CallKind::Inline},
    ModuleRule{"torch.autograd.graph", CallKind::Inline},
    ModuleRule{"torch.autograd", CallKind::Unsupported, kAutograd},
    ModuleRule{"torch.distributed", CallKind::Unsupported, kProcesses},
    ModuleRule{"torch.multiprocessing", CallKind::Unsupported, kProcesses},
    ModuleRule{"torch.nn.parallel", CallKind::Unsupported, kProcesses},
    ModuleRule{"torch.futures", CallKind::Unsupported, kProcesses},
    ModuleRule{"torch.serialization", CallKind::Unsupported, kInputOutput},
    ModuleRule{"torch.hub", CallKind::Unsupported, kInputOutput},
    ModuleRule{"torch.package", CallKind::Unsupported, kInputOutput},
    ModuleRule{"torch.utils.data", CallKind::Unsupported, kInputOutput},
    ModuleRule{"torch.utils.cpp_extension", CallKind::Unsupported, kCompiler},
    ModuleRule{"torch.utils.checkpoint", CallKind::Unsupported, kTransforms},
    ModuleRule{"torch._functorch", CallKind::Inline},
    ModuleRule{"torch.func", CallKind::Inline},
    // What prepares the arguments of the loops' operators.
    ModuleRule{"torch._higher_order_ops.associative_scan", CallKind::Inline},
    ModuleRule{"torch._higher_order_ops.map", CallKind::Inline},
    ModuleRule{"torch._higher_order_ops.scan", CallKind::Inline},
    ModuleRule{"torch._higher_order_ops.utils", CallKind::Inline},
    ModuleRule{"torch._higher_order_ops.while_loop", CallKind::Inline},
    ModuleRule{"torch._higher_order_ops", CallKind::Unsupported, kTransforms},
    ModuleRule{"torch.profiler", CallKind::Unsupported, kGlobalState},
    // A mode for what vmap maps over: TorchDynamo looks into it, too.
    ModuleRule{"torch._dynamo._trace_wrapped_higher_order_op", CallKind::Inline},
    ModuleRule{"torch._dynamo.polyfills", CallKind::Inline},
    ModuleRule{"torch._dynamo", CallKind::Unsupported, kCompiler},
    ModuleRule{"torch._inductor", CallKind::Unsupported, kCompiler},
    ModuleRule{"torch._export", CallKind::Unsupported, kCompiler},
    ModuleRule{"torch._compile", CallKind::Unsupported, kCompiler},
    ModuleRule{"torch.compiler", CallKind::Unsupported, kCompiler},
    ModuleRule{"torch.export", CallKind::Unsupported, kCompiler},
    ModuleRule{"torch.jit", CallKind::Unsupported, kCompiler},
    ModuleRule{"torch._jit_internal", CallKind::Unsupported, kCompiler},
    // What asks whether a number is symbolic; in a trace of ours none is.
    ModuleRule{"torch.fx.experimental.symbolic_shapes", CallKind::Inline},
    ModuleRule{"torch.fx", CallKind::Unsupported, kCompiler},
    ModuleRule{"torch.onnx", CallKind::Unsupported, kCompiler},
    ModuleRule{"torch._subclasses", CallKind::Unsupported, kCompiler},
    ModuleRule{"torch.library", CallKind::Unsupported, kGlobalState},
    // A custom operator's definition is called: it calls the operator.
    ModuleRule{"torch._library.custom_ops", CallKind::Inline},
    ModuleRule{"torch._library", CallKind::Unsupported, kGlobalState},
    ModuleRule{"torch.backends", CallKind::Unsupported, kGlobalState},
    ModuleRule{"torch.nested", CallKind::Unsupported,
               "the graph cannot describe nested tensors; pad them instead"},
    ModuleRule{"torch.sparse", CallKind::Unsupported,
               "the graph cannot describe sparse tensors; convert them by to_dense()"},
};

bool isIn(std::string_view module, std::string_view package) {
  return module.starts_with(package) &&
         (module.size() == package.size() || module[package.size()] == '.');
}

CallRule rule(CallKind kind, const char* reason, std::string_view name) {
  CallRule result{.kind = kind, .reason = reason};
  if (kind == CallKind::GraphOperation) {
    result.returnsOneArray = returnsOneArrayByName(name);
    result.mutates = isInPlaceName(name);
  }
  return result;
}

}  // namespace

CallRule classifyPythonFunction(const CallableName& function, std::string_view codeName) {
  const auto& [module, name] = function;
  if (module.empty()) return {};
  for (const CodeRule& entry : kCode) {
    bool isMeant = name.empty() && entry.module == module && entry.qualifiedName == codeName;
    if (isMeant) return {.kind = entry.kind};
  }
  std::string qualified = function.qualified();
  for (const NamedRule& entry : kFunctions) {
    if (entry.name == qualified) return rule(entry.kind, entry.reason, name);
  }
  // Helpers of the operations, which are reached only where those are looked into.
  if (isIn(module, "torch.nn.functional") && name.starts_with('_')) {
    return {.kind = CallKind::Inline};
  }
  for (const ModuleRule& entry : kModules) {
    if (!isIn(module, entry.prefix)) continue;
    if (entry.kind == CallKind::GraphOperation && name.empty()) break;
    return rule(entry.kind, entry.reason, name);
  }
  return {.kind = CallKind::Inline};
}

}  // namespace armature
