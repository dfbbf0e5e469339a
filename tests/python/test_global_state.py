"""torch's and NumPy's global state: every setting is seen when it changes, and when it is back."""

import contextlib
import subprocess
import sys
import textwrap
import threading

import armature
import numpy
import pytest
import torch
from armature import _C


@contextlib.contextmanager
def setting(set_to, value, back):
    set_to(value)
    try:
        yield
    finally:
        set_to(back)


class FunctionMode(torch.overrides.TorchFunctionMode):
    def __torch_function__(self, func, types, args=(), kwargs=None):
        return func(*args, **(kwargs or {}))


class DispatchMode(torch.utils._python_dispatch.TorchDispatchMode):
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        return func(*args, **(kwargs or {}))


def set_deterministic(value):
    torch.use_deterministic_algorithms(*value[:1], warn_only=value[1])


def set_precision(value):
    torch.backends.mkldnn.matmul.fp32_precision = value


CHANGES = {
    "grad_mode": lambda: torch.no_grad(),
    "inference_mode": lambda: torch.inference_mode(),
    "autocast_cpu": lambda: torch.autocast("cpu", torch.bfloat16),
    "autocast_cpu_dtype": lambda: torch.autocast("cpu", torch.float16),
    "autocast_cuda": lambda: setting(
        lambda on: torch.set_autocast_enabled("cuda", on), True, False
    ),
    "autocast_cuda_dtype": lambda: setting(
        lambda dtype: torch.set_autocast_dtype("cuda", dtype), torch.bfloat16, torch.float16
    ),
    "autocast_cache": lambda: setting(torch.set_autocast_cache_enabled, False, True),
    "torch_function_modes": lambda: FunctionMode(),
    "torch_function": lambda: torch._C.DisableTorchFunctionSubclass(),
    "torch_dispatch_modes": lambda: DispatchMode(),
    "default_dtype": lambda: setting(torch.set_default_dtype, torch.float64, torch.float32),
    "function_mode_kinds": lambda: torch.device("meta"),
    "default_device": lambda: setting(torch.set_default_device, "meta", None),
    "deterministic_algorithms": lambda: setting(set_deterministic, (True, False), (False, False)),
    "deterministic_warn_only": lambda: setting(set_deterministic, (True, True), (False, False)),
    "fp32_precision": lambda: setting(set_precision, "ieee", "none"),
    "fp16_reduced_precision": lambda: setting(
        lambda on: torch._C._set_cublas_allow_fp16_reduced_precision_reduction(on, True),
        False,
        True,
    ),
    "bf16_reduced_precision": lambda: setting(
        lambda on: torch._C._set_cublas_allow_bf16_reduced_precision_reduction(on, True),
        False,
        True,
    ),
    "num_threads": lambda: setting(
        torch.set_num_threads, torch.get_num_threads() + 1, torch.get_num_threads()
    ),
}


@pytest.mark.parametrize("name", CHANGES)
def test_each_setting(name):
    with CHANGES[name]():  # "none" where the default was: not the same to torch
        pass
    before = _C.global_state()
    assert _C.global_state_difference(before) == (True, "")
    guards = _C.GuardManager([(None, "GLOBAL_STATE")], [], [])
    for _ in range(2):
        with CHANGES[name]():
            same, text = _C.global_state_difference(before)
            assert not same
            assert name in text
            assert guards.check() is None
            passed, failed, actual = guards.check_verbose()
            assert (passed, failed) == (False, "global state is unchanged")
            assert name in actual
            inside = _C.GuardManager([(None, "GLOBAL_STATE")], [], [])
            assert inside.check() == ()
        assert _C.global_state_difference(before) == (True, "")
        assert guards.check() == ()
        assert inside.check() is None


def test_precision_by_backend_and_operation():
    """In a process of its own: torch has no way back to cuDNN's first precisions."""
    program = """
        import torch
        from armature import _C

        states = {_C.global_state()}
        for backend in (torch.backends.mkldnn, torch.backends.cudnn):
            for operation in (backend.conv, backend.rnn):
                operation.fp32_precision = "ieee"
                states.add(_C.global_state())
        assert len(states) == 5
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(program)], check=True)


def test_modes_are_known_by_kind():
    class OtherMode(FunctionMode):
        pass

    stacks = [
        [],
        [FunctionMode()],
        [OtherMode()],
        [FunctionMode(), OtherMode()],
        [OtherMode(), FunctionMode()],
        [torch.device("meta")],
        [torch.device("cpu")],
        [torch.device("cuda:1")],
        [torch.device("cuda:2")],
    ]
    states = set()
    for _ in range(2):
        for stack in stacks:
            with contextlib.ExitStack() as entered:
                for mode in stack:
                    entered.enter_context(mode)
                states.add(_C.global_state())
    assert len(states) == len(stacks)


def test_modes_belong_to_threads():
    guards = _C.GuardManager([(None, "GLOBAL_STATE")], [], [])
    found = []

    def elsewhere():
        found.append(guards.check())
        with torch.no_grad():
            found.append(guards.check())
        found.append(guards.check())

    with torch.no_grad():
        assert guards.check() is None
        for _ in range(3):
            thread = threading.Thread(target=elsewhere)
            thread.start()
            thread.join()
        assert guards.check() is None
    assert found == [(), None, ()] * 3


def test_numpy_error_handling():
    guards = _C.GuardManager([(None, "GLOBAL_STATE")], [], [])
    assert guards.check() == ()
    with numpy.errstate(divide="raise", under="print"):
        assert guards.check() is None
        assert "divide: expected warn, found raise; under: expected ignore, found print" in str(
            guards.check_verbose()
        )
    assert guards.check() == ()
    with numpy.errstate(divide="warn"):  # as it was
        assert guards.check() == ()


def modes_set(fn, *args):
    """The modes that the graph sets, in the order of its nodes."""
    modes = []

    def backend(graph, inputs):
        setting = [node for node in graph.graph.nodes if "grad_enabled" in str(node.target)]
        modes.extend(node.args[0] for node in setting)
        return graph.forward

    result = armature.compile(fn, backend=backend)(*args)
    assert result.tolist() == fn(*args).tolist()
    return modes


def twice_without_gradients(x):
    with torch.no_grad():
        x = x * 2
    with torch.no_grad():
        return x * 3


def nested_modes(x):
    with torch.no_grad(), torch.no_grad():
        y = x * 2
        with torch.enable_grad():
            pass
        return y


def mode_by_a_call(x):
    before = torch.is_grad_enabled()
    torch.set_grad_enabled(False)
    y = x * 2
    torch.set_grad_enabled(before)
    return y


@pytest.mark.parametrize("fn", [twice_without_gradients, nested_modes, mode_by_a_call])
def test_a_mode_is_set_where_it_changes_alone(fn):
    x = torch.ones(2)
    assert modes_set(fn, x) == [False, True]
    with torch.no_grad():
        assert modes_set(fn, x) == []
    compiled = armature.compile(fn)
    for enabled in (True, False, True):
        with torch.set_grad_enabled(enabled):
            assert compiled(torch.ones(2, requires_grad=True)).requires_grad is False
            assert torch.is_grad_enabled() is enabled


OF_A_DEVICE = {
    "ones": lambda x: torch.ones(1),
    "no device": lambda x: torch.ones(1, device=None),
    "a device": lambda x: torch.ones(1, device="cpu"),
    "arange": lambda x: torch.arange(3) + 1,
    "as_tensor": torch.as_tensor,
    "tensor": lambda x: torch.tensor([1.0, 2.0]),
    "full": lambda x: torch.full((2,), x.sum()),
    "zeros_like": torch.zeros_like,
    "new_zeros": lambda x: x.new_zeros(2),
    "module": lambda x: torch.nn.Linear(2, 2).weight.detach(),
}


@pytest.mark.parametrize("make", OF_A_DEVICE.values(), ids=OF_A_DEVICE.keys())
def test_tensors_are_on_the_device_in_force(make):
    def program(x):
        made = make(x)
        where = "meta" if made.device.type == "meta" else "cpu"
        return where, made.is_meta, made.device == x.device, made.shape

    def behind_a_break(x):
        with torch.device("meta"):
            armature.graph_break()
            return program(x)

    x = torch.ones(2)
    worlds = [
        contextlib.nullcontext,
        lambda: torch.device("meta"),
        FunctionMode,
        lambda: torch.device("cpu"),
        lambda: setting(torch.set_default_device, "meta", None),
    ]
    for plain in (program, behind_a_break):
        compiled = armature.compile(plain)
        for world in worlds * 2:
            with world():
                assert compiled(x) == plain(x)
    compiled = armature.compile(program)
    for plain in (program, compiled):
        with torch.device("meta"), FunctionMode(), torch.device("cpu"):
            assert plain(x)[0] == "cpu"
        with torch.device("cpu"), FunctionMode(), torch.device("meta"):
            assert plain(x) == program(x)


def test_each_read_of_a_device_makes_an_object():
    def program(x, y):
        first, second = x.device, x.device
        found = [first is second, first is first, x.device is y.device, [first][0] is first]
        armature.graph_break()
        return *found, first is second, first is first, first == second

    compiled = armature.compile(program)
    for world in (contextlib.nullcontext(), torch.device("meta")):
        with world:
            x, y = torch.ones(1), torch.ones(1)
            for _ in range(2):
                assert compiled(x, y) == program(x, y)
