"""Custom autograd functions of which nobody asks gradients: what forward() sets and makes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import armature
import pytest
import torch
from differential import break_reasons
from torch.func import grad, jvp

W = torch.tensor([1.0, 2.0], requires_grad=True)


def makes_a_leaf(x):
    return x.clone().requires_grad_().sum() + x


def makes_a_leaf_like(x):
    return torch.ones_like(x, requires_grad=True) * x


def makes_none(x):
    return torch.ones_like(x, requires_grad=False) * x


def in_grad_mode(x):
    with torch.enable_grad():
        y = x * 2
    return y + x


def leaf_in_grad_mode(x):
    with torch.enable_grad():
        y = x.clone().requires_grad_()
        z = (y * y).sum()
    return x * z.requires_grad


def in_a_transform(x):
    return grad(lambda y: (y**3).sum())(x)


def in_a_forward_transform(x):
    return jvp(lambda y: y**3, (x,), (x,))[1]


def in_autocast(x):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        y = torch.outer(x, x) @ torch.outer(x, x)
    return y.float().sum() + x


def in_another_default_dtype(x):
    torch.set_default_dtype(torch.float64)
    try:
        return torch.ones(2) * x
    finally:
        torch.set_default_dtype(torch.float32)


def leaves_grad_mode(x):
    torch.set_grad_enabled(True)
    return x * 2


def breaks_in_grad_mode(x):
    with torch.enable_grad():
        y = x * 2
        armature.graph_break()
    return y * W.detach()


BODIES = [
    makes_a_leaf,
    makes_a_leaf_like,
    makes_none,
    in_grad_mode,
    leaf_in_grad_mode,
    in_a_transform,
    in_a_forward_transform,
    in_autocast,
    in_another_default_dtype,
    leaves_grad_mode,
    breaks_in_grad_mode,
]


def applied(body: Callable[..., Any]) -> Callable[..., Any]:
    class Applied(torch.autograd.Function):
        @staticmethod
        def forward(context, x):
            return body(x)

        @staticmethod
        def backward(context, gradient):
            return gradient * 7

    return Applied.apply


def outcome(function: Callable[..., Any], x: torch.Tensor) -> str:
    W.grad = None
    result = function(x)
    enabled = torch.is_grad_enabled()
    if result[0].requires_grad:
        result[0].sum().backward()
    told = [(each.detach(), each.requires_grad, each.is_leaf) for each in result[:2]]
    return repr((told, result[2:], W.grad, enabled, torch.get_default_dtype()))


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("enabled", [True, False])
@pytest.mark.parametrize("body", BODIES, ids=lambda each: each.__name__)
def test_what_forward_sets_and_makes(body: Callable[..., Any], enabled: bool, backend: str) -> None:
    apply = applied(body)

    def program(x):
        y = apply(x)
        return y * W, y, torch.is_grad_enabled()

    compiled = armature.compile(program, backend=backend)
    with torch.set_grad_enabled(enabled):
        for _ in range(2):
            assert outcome(compiled, torch.ones(2)) == outcome(program, torch.ones(2))


@pytest.mark.parametrize("body", [makes_none, in_grad_mode, in_a_transform, in_autocast])
def test_these_are_captured_whole(body: Callable[..., Any]) -> None:
    apply = applied(body)
    compiled = armature.compile(lambda x: apply(x) * W, fullgraph=True)
    assert torch.equal(compiled(torch.ones(2)), apply(torch.ones(2)) * W)
    assert not break_reasons(compiled)


def test_forward_gradients_are_off_in_inference_mode() -> None:
    def program(x):
        return jvp(lambda y: y**2, (x,), (x,))[1], torch._C._is_fwd_grad_enabled()

    compiled = armature.compile(program)
    for inference in (False, True, False):
        with torch.inference_mode(inference):
            assert repr(compiled(W.detach())) == repr(program(W.detach()))

    wholly = armature.compile(torch.inference_mode()(program))
    assert repr(wholly(W.detach())) == repr(torch.inference_mode()(program)(W.detach()))
