"""Settings of the process that a captured function changes: in the graph, in their place."""

from __future__ import annotations

import armature
import pytest
import torch
from differential import break_reasons, translations
from torch._subclasses.fake_tensor import FakeTensor
from torch.nn.attention import SDPBackend, sdpa_kernel

X = torch.arange(1.0, 4.0)
Q = torch.randn(1, 2, 3, 4)

GETTERS = [
    torch.get_default_dtype,
    torch.are_deterministic_algorithms_enabled,
    torch.is_deterministic_algorithms_warn_only_enabled,
    torch.backends.cuda.flash_sdp_enabled,
    torch.backends.cuda.math_sdp_enabled,
    torch.backends.cuda.mem_efficient_sdp_enabled,
    torch.backends.cuda.cudnn_sdp_enabled,
]


def state():
    return [get() for get in GETTERS]


SETTERS = [
    torch.set_default_dtype,
    None,
    None,
    torch.backends.cuda.enable_flash_sdp,
    torch.backends.cuda.enable_math_sdp,
    torch.backends.cuda.enable_mem_efficient_sdp,
    torch.backends.cuda.enable_cudnn_sdp,
]


def put_back(before):
    torch.use_deterministic_algorithms(before[1], warn_only=before[2])
    for set_, value in zip(SETTERS, before, strict=True):
        if set_:
            set_(value)


@pytest.fixture(autouse=True)
def same_state():
    before = state()
    yield
    put_back(before)


SEEN: list = []


@torch.compiler.allow_in_graph
def look(x):
    if not isinstance(x, FakeTensor):
        SEEN.append(state())
    return x + 1


def outcome(function, args):
    SEEN.clear()
    try:
        result = function(*args)
    except Exception as error:
        result = type(error), str(error)
    return repr(result), list(SEEN), state()


def compare(function, *args, fullgraph=True, starts=((),)):
    """Plain and captured, from each of the states that ``starts`` set, twice each."""
    compiled = armature.compile(function, fullgraph=fullgraph)
    before = state()
    for change in [*starts, *starts]:
        found = []
        for each in (function, compiled):
            put_back(before)
            for set_, *values in change:
                set_(*values)
            found.append(outcome(each, args))
        put_back(before)
        assert found[0] == found[1]
    return compiled


def dtype_between(x):
    a = torch.ones(2)
    torch.set_default_dtype(torch.float64)
    b, c, d = torch.ones(2), torch.tensor(1.5), x.long() / 2
    name = torch.get_default_dtype()
    torch.set_default_dtype(torch.float16)
    e = torch.zeros(1).dtype
    torch.set_default_dtype(torch.float32)
    return a, b, c, d, name, e, torch.tensor([0.5])


def dtype_that_stays(x):
    torch.set_default_dtype(torch.float64)
    return look(x) + torch.ones(3)


def dtype_in_a_handler(x):
    torch.set_default_dtype(torch.float64)
    try:
        return torch.ones(2) + torch.ones(3)
    except RuntimeError as error:
        return str(error), torch.ones(1), torch.get_default_dtype()
    finally:
        torch.set_default_dtype(torch.float32)


def dtype_that_is_none(x):
    try:
        torch.set_default_dtype(torch.int32)
    except TypeError as error:
        return str(error), torch.ones(1)


def under_autocast(x):
    with torch.autocast("cpu"):
        with sdpa_kernel(SDPBackend.MATH):
            y = x * 2
        z = torch.ones(2, 2) @ torch.ones(2, 2)
    return y, z


def autocast_with_another_end(x):
    with torch.autocast("cpu"):
        torch.set_default_dtype(torch.float64)
        y = torch.ones(2)
    z = torch.ones(2, 2) @ torch.ones(2, 2)
    torch.set_default_dtype(torch.float32)
    return y, z


def without_gradients(x):
    with torch.no_grad():
        torch.set_default_dtype(torch.float64)
        y = torch.ones(2) * x[0]
    return y, torch.ones(1), torch.is_grad_enabled()


def kernels(q):
    with sdpa_kernel([SDPBackend.MATH]):
        z = torch.nn.functional.scaled_dot_product_attention(q, q, q)
    return look(q), z


def kernels_inside(q):
    with sdpa_kernel([SDPBackend.MATH, SDPBackend.FLASH_ATTENTION]):
        with sdpa_kernel(SDPBackend.MATH):
            y = q * 2
            flags = torch.backends.cuda.flash_sdp_enabled(), torch.backends.cuda.math_sdp_enabled()
        more = torch.backends.cuda.flash_sdp_enabled(), torch.backends.cuda.cudnn_sdp_enabled()
    return look(y), flags, more


def kernels_seen(q):
    y = look(q)
    with sdpa_kernel(SDPBackend.FLASH_ATTENTION):
        y = look(y)
        with sdpa_kernel([SDPBackend.MATH, SDPBackend.FLASH_ATTENTION]):
            y = look(y)
        y = look(y)
    return look(y)


def kernels_and_an_error(q):
    try:
        with sdpa_kernel(SDPBackend.MATH):
            look(q) + torch.ones(7)
    except RuntimeError as error:
        return str(error), look(q)


@pytest.mark.parametrize(
    ("function", "x"),
    [
        (dtype_between, X),
        (dtype_that_stays, X),
        (dtype_in_a_handler, X),
        (without_gradients, X),
        (under_autocast, X),
        (kernels, Q),
        (kernels_inside, Q),
    ],
)
def test_whole(function, x):
    compiled = compare(function, x)
    assert translations(compiled) >= 1 and not break_reasons(compiled)


@pytest.mark.parametrize(
    ("function", "x"),
    [
        (dtype_that_is_none, X),
        (autocast_with_another_end, X),
        (kernels_and_an_error, Q),
        (kernels_seen, Q),
    ],
)
def test_with_breaks(function, x):
    compare(function, x, fullgraph=False)


def deterministic(x):
    y = look(x)
    torch.use_deterministic_algorithms(True, warn_only=True)
    y = look(y)
    seen = torch.are_deterministic_algorithms_enabled()
    torch.use_deterministic_algorithms(False)
    return look(y), seen


def test_deterministic_algorithms():
    starts = [
        (),
        [(torch.use_deterministic_algorithms, True)],
        [(lambda: torch.use_deterministic_algorithms(True, warn_only=True),)],
    ]
    compare(deterministic, X, starts=starts, fullgraph=False)


def test_other_settings_before_the_call():
    starts = [
        (),
        [(torch.set_default_dtype, torch.float64)],
        [(torch.backends.cuda.enable_math_sdp, False)],
        [(torch.backends.cuda.enable_flash_sdp, False), (torch.set_default_dtype, torch.float16)],
    ]
    for function, x in ((dtype_between, X), (kernels, Q), (kernels_inside, Q)):
        compare(function, x, starts=starts)


def test_data_that_fail_behind_a_change():
    def program(x, index):
        torch.set_default_dtype(torch.float64)
        y = torch.ones(2) + x[index]
        torch.set_default_dtype(torch.float32)
        return y + torch.ones(2)

    def in_handler(x, index):
        torch.set_default_dtype(torch.float64)
        try:
            y = x[index]
        except IndexError:
            y = torch.ones(2)
        return y, torch.ones(1)

    def with_change(x, index):
        x.add_(1)
        torch.set_default_dtype(torch.float64)
        z = torch.ones(2)
        y = x[index]
        return y, z

    for function in (program, in_handler, with_change):
        compiled = armature.compile(function)
        for index in (1, 7, 1, -9):
            found = []
            for each in (function, compiled):
                torch.set_default_dtype(torch.float32)
                x = X.clone()
                found.append((outcome(each, (x, torch.tensor([index, 0]))), x.tolist()))
            assert found[0] == found[1]


@pytest.mark.parametrize("backend", ["aot_eager", lambda module, inputs: module.forward])
def test_other_backends(backend):
    for function, x in ((dtype_that_stays, X), (kernels, Q), (deterministic, X)):
        compiled = armature.compile(function, backend=backend)
        before = state()
        for _ in range(3):
            found = []
            for each in (function, compiled):
                put_back(before)
                result, _, after = outcome(each, (x,))
                found.append((result, after))
            put_back(before)
            assert found[0] == found[1]


def test_a_break_behind_a_change():
    def program(x):
        torch.set_default_dtype(torch.float64)
        y = torch.ones(2)
        armature.graph_break()
        z = torch.ones(2)
        torch.set_default_dtype(torch.float32)
        armature.graph_break()
        return y, z, torch.ones(2)

    compare(program, X, fullgraph=False)


def test_in_a_checkpoint():
    def body(x):
        torch.set_default_dtype(torch.float64)
        y = x * torch.ones(3)
        torch.set_default_dtype(torch.float32)
        return y

    def unbalanced(x):
        torch.set_default_dtype(torch.float64)
        return x * torch.ones(3)

    for inner in (body, unbalanced):

        def program(x, inner=inner):
            return torch.utils.checkpoint.checkpoint(inner, x, use_reentrant=False) + torch.ones(3)

        compare(program, X, fullgraph=False)


def devices_between(x):
    a = torch.ones(2).device
    torch.set_default_device("meta")
    b, c = torch.ones(2).device, torch.get_default_device()
    torch.set_default_device(None)
    return a, b, c, torch.ones(2).device, x + 1


def device_that_stays(x):
    y = x + 1
    torch.set_default_device("meta")
    return y, torch.empty(2).device


def device_taken_away(x):
    torch.set_default_device(None)
    return torch.ones(2).device, x + 1


@pytest.mark.parametrize("function", [devices_between, device_that_stays, device_taken_away])
def test_default_devices(function):
    compiled = armature.compile(function)
    for start in (None, "meta", "cpu", None, "meta"):
        found = []
        for each in (function, compiled):
            torch.set_default_device(start)
            try:
                found.append((repr(each(X)), torch.get_default_device(), torch.ones(1).device))
            finally:
                torch.set_default_device(None)
        assert found[0] == found[1]
    assert not torch.overrides._get_current_function_mode_stack()
