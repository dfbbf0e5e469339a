"""Answers of torch that are folded into a trace: each is guarded by the state that it reads."""

import contextlib
import gc

import armature
import pytest
import torch
from armature import _C
from differential import break_reasons
from test_global_state import CHANGES as GUARDED_ALWAYS
from test_global_state import setting


@contextlib.contextmanager
def process_group():
    import torch.distributed as distributed

    store = distributed.HashStore()
    distributed.init_process_group("gloo", store=store, rank=0, world_size=1)
    try:
        yield
    finally:
        distributed.destroy_process_group()


@contextlib.contextmanager
def attribute(owner, name, value):
    before = getattr(owner, name)
    setattr(owner, name, value)
    try:
        yield
    finally:
        setattr(owner, name, before)


@contextlib.contextmanager
def onnx_export():
    from torch.onnx._internal.torchscript_exporter._globals import GLOBALS

    with attribute(GLOBALS, "_in_onnx_export", True):
        yield


@contextlib.contextmanager
def transform_level():
    torch._C._functorch._vmap_increment_nesting(2, "error")
    try:
        yield
    finally:
        torch._C._functorch._vmap_decrement_nesting()


def toggled(get, set_to):
    return lambda: setting(set_to, not get(), get())


BACKENDS = torch.backends
CHANGES = {
    **GUARDED_ALWAYS,
    "autocast_devices": lambda: torch.autocast("cpu", torch.bfloat16),
    "autocast_device_dtypes": lambda: setting(
        lambda dtype: torch.set_autocast_dtype("cpu", dtype),
        torch.float16,
        torch.get_autocast_dtype("cpu"),
    ),
    "anomaly_mode": lambda: torch.autograd.set_detect_anomaly(True, check_nan=False),
    "anomaly_check_nan": lambda: torch.autograd.set_detect_anomaly(False, check_nan=False),
    "warn_always": toggled(torch.is_warn_always_enabled, torch.set_warn_always),
    "flash_sdp": toggled(BACKENDS.cuda.flash_sdp_enabled, BACKENDS.cuda.enable_flash_sdp),
    "math_sdp": toggled(BACKENDS.cuda.math_sdp_enabled, BACKENDS.cuda.enable_math_sdp),
    "mem_efficient_sdp": toggled(
        BACKENDS.cuda.mem_efficient_sdp_enabled, BACKENDS.cuda.enable_mem_efficient_sdp
    ),
    "cudnn_sdp": toggled(BACKENDS.cuda.cudnn_sdp_enabled, BACKENDS.cuda.enable_cudnn_sdp),
    "overrideable_sdp": toggled(
        torch._C._get_overrideable_sdp_enabled, torch._C._set_sdp_use_overrideable
    ),
    "math_sdp_reduction": toggled(
        torch._C._get_math_sdp_allow_fp16_bf16_reduction,
        torch._C._set_math_sdp_allow_fp16_bf16_reduction,
    ),
    "cudnn_enabled": toggled(torch._C._get_cudnn_enabled, torch._C._set_cudnn_enabled),
    "cudnn_benchmark": toggled(torch._C._get_cudnn_benchmark, torch._C._set_cudnn_benchmark),
    "cudnn_deterministic": toggled(
        torch._C._get_cudnn_deterministic, torch._C._set_cudnn_deterministic
    ),
    "mkldnn_enabled": toggled(torch._C._get_mkldnn_enabled, torch._C._set_mkldnn_enabled),
    "cuda_initialized": lambda: attribute(torch.cuda, "_initialized", True),
    "onnx_export": onnx_export,
    "process_group": process_group,
    "transform_levels": transform_level,
}
# What this machine and process cannot change: there is no CUDA, the interop pool is set once.
FIXED = {"cuda_device", "num_interop_threads", "jit_tracing"}

ARGUMENTS = {
    "torch._C._is_autocast_available": ("cpu",),
    "torch._C.is_autocast_enabled": ("cpu",),
    "torch._C.get_autocast_dtype": ("cpu",),
    "torch._C._log_api_usage_once": ("armature.test",),
    "torch.can_cast": (torch.float32, torch.int64),
    "torch.promote_types": (torch.float32, torch.int64),
    "torch.functional.broadcast_shapes": ((2, 1), (1, 3)),
    "torch.is_storage": (3,),
    "torch.overrides.is_tensor_like": (3,),
}


def resolve(name):
    module, attribute = name.rsplit(".", 1)
    found = torch
    for part in module.split(".")[1:]:
        found = getattr(found, part)
    return getattr(found, attribute)


QUERIES = [(name, tuple(settings)) for name, settings in _C.torch_queries()]


def plain(function, arguments):
    try:
        return function(*arguments)
    except Exception as error:
        return type(error), str(error)


def test_every_setting_has_a_change():
    asked = {setting for _, settings in QUERIES for setting in settings}
    assert asked <= set(CHANGES) | FIXED, asked - set(CHANGES) - FIXED


@pytest.mark.parametrize(("name", "settings"), QUERIES, ids=[name for name, _ in QUERIES])
def test_each_query(name, settings):
    try:
        query = resolve(name)
    except AttributeError:
        pytest.fail(f"{name} is not there")
    arguments = ARGUMENTS.get(name, ())

    def program(x):
        return x + 1, query(*arguments)

    def run(x):
        try:
            return compiled(x)[1]
        except Exception as error:
            return type(error), str(error)

    compiled = armature.compile(program)
    x = torch.ones(2)
    assert run(x) == plain(query, arguments)
    for each in settings:
        if each in FIXED:
            continue
        with CHANGES[each]():
            assert run(x) == plain(query, arguments), each
        assert run(x) == plain(query, arguments), each
    gc.collect()


def test_a_query_without_declared_state_is_not_folded():
    def program(x):
        return x + 1, torch._C._get_qengine()

    compiled = armature.compile(program)
    compiled(torch.ones(2))
    assert break_reasons(compiled)


def test_a_setting_that_nobody_asked_for_is_not_guarded():
    compiled = armature.compile(lambda x: x + 1)
    compiled(torch.ones(2))
    with CHANGES["math_sdp"]():
        compiled(torch.ones(2))
    assert len(_C.entries(compiled)) == 1


# --- Branches for compilers that are for another one.


def checks_unless_compiling(x, mask=None):
    if mask is None and not torch.compiler.is_compiling():
        mask = torch.ones(x.shape)
    return x * mask.sum() + 1


def raises_and_catches(x):
    try:
        checks_unless_compiling(x)
    except AttributeError:
        return x - 1
    return x


def breaks_and_checks(x):
    y = x + 1
    print("between")
    return y, checks_unless_compiling(y), armature.is_compiling()


def raises_anyway(x):
    if torch.compiler.is_compiling():
        raise ValueError("compiling")
    raise KeyError("plain")


def test_an_exception_of_a_branch_for_compilers_is_not_the_program_s(capsys):
    x = torch.ones(2)
    for function in (checks_unless_compiling, breaks_and_checks):
        compiled = armature.compile(function)
        for _ in range(3):
            assert repr(compiled(x)) == repr(function(x))
    assert not armature.explain(checks_unless_compiling)(x).break_reasons
    assert armature.explain(checks_unless_compiling)(x).op_count > 2
    # What the program catches, it has seen.
    assert torch.equal(armature.compile(raises_and_catches)(x), x - 1)
    with pytest.raises(KeyError):
        armature.compile(raises_anyway)(x)


def test_checks_of_sizes_stay_in_the_graph():
    def checked(x, n):
        torch._check(x.shape[0] == n, lambda: f"{x.shape[0]} rows, not {n}")
        torch._check_index(n > 0)
        return x * n

    x = torch.ones(3)
    compiled = armature.compile(checked)
    assert compiled(x, 3).tolist() == [3, 3, 3]
    assert not break_reasons(compiled)
    with pytest.raises(RuntimeError, match="3 rows, not 4"):
        compiled(x, 4)
    with pytest.raises(IndexError):
        compiled(torch.ones(0), 0)
