"""What a callable is follows from the object itself, never from what it says of itself."""

import functools
import math
import types

import armature
import numpy as np
import pytest
import torch
import torch.nn.functional as F
from differential import check, report


def named(function, module, name):
    function.__module__, function.__name__, function.__qualname__ = module, name, name
    return function


STRANGERS = {
    "wraps": functools.wraps(F.relu)(lambda x: x - 100),
    "an operation": named(lambda x: x - 100, "torch.nn.functional", "relu"),
    "a folded query": named(lambda: 7, "torch", "get_num_threads"),
    "a query of a backend": named(lambda: 7, "torch.backends.cuda", "math_sdp_enabled"),
    "a function of the generator": named(lambda: 7, "torch.random", "seed"),
    "a device": named(lambda: 7, "torch.cuda", "synchronize"),
    "an in-place operation": named(lambda x: x - 100, "torch.nn.functional", "relu_"),
    "a numpy function": named(lambda x: x - 100, "numpy", "sin"),
    "a compiler": named(lambda x: x - 100, "torch._dynamo.eval_frame", "run"),
    "a scripting query": named(lambda: True, "torch._jit_internal", "is_scripting"),
}


@pytest.mark.parametrize("kind", STRANGERS)
def test_a_stranger_that_looks_like(kind):
    function = STRANGERS[kind]
    takes = function.__code__.co_argcount

    def program(x):
        return function(x) + 1 if takes else x + function()

    check(program, torch.ones(3), breaks=0)


def test_a_twin_of_an_operation_is_traced_through():
    twin = (
        types.FunctionType(F.softplus.__code__, F.__dict__)
        if hasattr(F.softplus, "__code__")
        else types.FunctionType(F.relu.__code__, F.__dict__)
    )
    relu = types.FunctionType(F.relu.__code__, F.__dict__, "relu", F.relu.__defaults__)
    assert twin is not F.relu

    def program(x):
        return relu(x) * 2

    check(program, torch.randn(4), breaks=0)


def test_names_of_torchs_own_functions_do_not_matter():
    name = F.dropout.__name__
    F.dropout.__name__ = "relu"
    try:

        def program(x):
            F.dropout(x, 0.5, True)  # draws random numbers: must stay, though its result is unused
            return x + torch.rand(3)

        compiled = armature.compile(program)
        for _ in range(3):
            torch.manual_seed(0)
            expected = program(torch.ones(3))
            torch.manual_seed(0)
            assert torch.equal(compiled(torch.ones(3)), expected)
    finally:
        F.dropout.__name__ = name


def test_a_replaced_function_is_not_the_old_one(monkeypatch):
    def program(x):
        return F.gelu(x) + F.silu(x)

    compiled = armature.compile(program)
    x = torch.randn(5)
    assert torch.equal(compiled(x), program(x))
    monkeypatch.setattr(F, "silu", functools.wraps(F.silu)(lambda x: x * 3))
    assert torch.equal(compiled(x), program(x))
    monkeypatch.setattr(F, "gelu", F.relu)
    assert torch.equal(compiled(x), program(x))


def test_methods_that_a_program_gives_to_tensor(monkeypatch):
    seen = []

    def shifted(self, by=1):
        seen.append(type(self).__name__)
        return self + by

    monkeypatch.setattr(torch.Tensor, "shifted", shifted, raising=False)

    def program(x):
        return x.shifted(3) * 2

    check(program, torch.ones(3), watch=seen, restore=seen.clear)


def test_a_method_of_tensor_named_as_an_operation(monkeypatch):
    def program(x):
        return x.sinc() + 1

    monkeypatch.setattr(torch.Tensor, "sinc", lambda self: self * 5)
    compiled = armature.compile(program)
    x = torch.randn(3)
    assert torch.equal(compiled(x), x * 5 + 1)


def test_c_functions_that_claim_a_module():
    module = math.gcd.__module__
    try:
        math.gcd.__module__ = "torch._C._nn"

        def program(x):
            return x * math.gcd(12, 18)

        check(program, torch.ones(2))
    finally:
        math.gcd.__module__ = module


def test_numpy_strangers():
    wrapped = functools.wraps(np.sin)(lambda x: x * 3)

    def program(x):
        return wrapped(x) + np.cos(x)

    check(program, np.ones(3), breaks=0)


def test_functions_made_by_torch_are_operations_by_where_torch_has_them():
    def program(x):
        return F.max_pool2d(x, 2) + F.adaptive_max_pool2d(x, 2).sum()

    compiled = check(program, torch.randn(1, 1, 4, 4), breaks=0)
    assert "max_pool2d" in report(compiled)
