"""Bodies of operations (what a checkpoint or a custom function computes) that do not come to their
end: one of their operations raises, or torch stops them as soon as it has what it wants."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import armature
import pytest
import torch
from differential import break_reasons
from torch.utils.checkpoint import checkpoint

INDEX = torch.full((1,), 7)


def state() -> dict[str, Any]:
    nested = torch.autocast_increment_nesting() - 1
    torch.autocast_decrement_nesting()
    return {
        "nested": nested,
        "autocast": torch.is_autocast_enabled("cpu"),
        "dtype": torch.get_autocast_dtype("cpu"),
        "cache": torch.is_autocast_cache_enabled(),
        "gradients": torch.is_grad_enabled(),
        "inference": torch.is_inference_mode_enabled(),
        "forward gradients": torch._C._is_fwd_grad_enabled(),
        "levels": torch._C._functorch.get_dynamic_layer_stack_depth(),
        "default dtype": torch.get_default_dtype(),
    }


def in_autocast(x: torch.Tensor, index: torch.Tensor) -> torch.Tensor:
    with torch.autocast("cpu", dtype=torch.bfloat16, cache_enabled=False):
        y = torch.outer(x, x) @ torch.outer(x, x)
        return y[index].float().sum() * x


def in_nested_autocast(x: torch.Tensor, index: torch.Tensor) -> torch.Tensor:
    with torch.autocast("cpu", dtype=torch.bfloat16):
        y = torch.outer(x, x) @ torch.outer(x, x)
        with torch.autocast("cpu", enabled=False), torch.no_grad():
            return y[index].float().sum() * x


def without_gradients(x: torch.Tensor, index: torch.Tensor) -> torch.Tensor:
    with torch.no_grad():
        y = x[index]
    return y.sum() * x


def with_gradients(x: torch.Tensor, index: torch.Tensor) -> torch.Tensor:
    with torch.enable_grad():
        return x[index].sum() * x


def in_inference_mode(x: torch.Tensor, index: torch.Tensor) -> torch.Tensor:
    with torch.inference_mode():
        y = x[index].dim()
    return y * x


def in_a_transform(x: torch.Tensor, index: torch.Tensor) -> torch.Tensor:
    return torch.func.grad(lambda y: (y[index] ** 3).sum())(x) * x


def with_a_setting(x: torch.Tensor, index: torch.Tensor) -> torch.Tensor:
    torch.set_default_dtype(torch.float64)
    try:
        return x[index].sum() * x * torch.ones(3)
    finally:
        torch.set_default_dtype(torch.float32)


BODIES = [
    in_autocast,
    in_nested_autocast,
    without_gradients,
    with_gradients,
    in_inference_mode,
    in_a_transform,
    with_a_setting,
]


def checkpointed(body: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x, index: checkpoint(body, x * 2, index, use_reentrant=False) + 1


def in_forward(body: Callable[..., Any]) -> Callable[..., Any]:
    class Function(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor, index: torch.Tensor) -> torch.Tensor:
            return body(x, index)

        @staticmethod
        def backward(ctx: Any, gradient: torch.Tensor) -> Any:
            return gradient, None

    return lambda x, index: Function.apply(x * 2, index) + 1


def in_backward(body: Callable[..., Any]) -> Callable[..., Any]:
    class Function(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor, index: torch.Tensor) -> torch.Tensor:
            ctx.save_for_backward(x, index)
            return x * 2

        @staticmethod
        def backward(ctx: Any, gradient: torch.Tensor) -> Any:
            return body(*ctx.saved_tensors) * gradient, None

    return lambda x, index: Function.apply(x * 2, index) + 1


def twice(body: Callable[..., Any]) -> Callable[..., Any]:
    def inner(x: torch.Tensor, index: torch.Tensor) -> torch.Tensor:
        with torch.autocast("cpu", enabled=False):
            return checkpoint(body, x * 2, index, use_reentrant=False)

    return lambda x, index: checkpoint(inner, x * 2, index, use_reentrant=False) + 1


SURROUNDINGS = [checkpointed, in_forward, in_backward, twice]


def outcome(fn: Callable[..., Any], index: torch.Tensor, requires_grad: bool) -> Any:
    x = torch.tensor([0.5, 1.0, 2.0], requires_grad=requires_grad)
    before = state()
    seen: list[Any] = []
    for _ in range(2):
        try:
            y = fn(x, index)
            seen.append((y.detach(), y.requires_grad))
            if y.requires_grad:
                y.sum().backward()
        except (IndexError, RuntimeError) as error:
            seen.append((type(error), str(error)))
        assert state() == before
    return repr((seen, x.grad))


@pytest.mark.parametrize("body", BODIES)
@pytest.mark.parametrize("around", SURROUNDINGS)
@pytest.mark.parametrize("requires_grad", [False, True])
def test_modes_are_put_back(
    body: Callable[..., Any], around: Callable[..., Any], requires_grad: bool
) -> None:
    compiled = armature.compile(around(body))
    for index in (torch.tensor([0]), torch.tensor([7]), torch.tensor([1])):
        expected = outcome(around(body), index, requires_grad)
        assert outcome(compiled, index, requires_grad) == expected


def test_what_is_cast_is_forgotten() -> None:
    """A region that is never left keeps the casts of weights that an optimizer then changes."""

    def train(compile: Callable[..., Any]) -> Any:
        torch.manual_seed(0)
        weight = torch.randn(4, 4, requires_grad=True)

        def body(x: torch.Tensor) -> torch.Tensor:
            with torch.autocast("cpu", dtype=torch.bfloat16):
                y = (x @ weight).sin()
                return y.cos() * y

        def step(x: torch.Tensor) -> torch.Tensor:
            return checkpoint(body, x * 2, use_reentrant=False).float().sum()

        step = compile(step)
        losses = []
        for _ in range(4):
            loss = step(torch.ones(4, 4, requires_grad=True))
            loss.backward()
            losses.append(loss.item())
            with torch.no_grad():
                weight -= 0.1 * weight.grad
            weight.grad = None
        with torch.autocast("cpu", dtype=torch.bfloat16):
            losses.append((torch.ones(4, 4) @ weight).float().sum().item())
        return losses, state(), step

    expected, before, _ = train(lambda step: step)
    actual, after, compiled = train(armature.compile)
    assert actual == expected
    assert before == after
    assert not break_reasons(compiled)


def test_the_exception_is_the_bodys_own() -> None:
    def body(x: torch.Tensor) -> torch.Tensor:
        with torch.no_grad():
            return x[INDEX]

    def outer(x: torch.Tensor) -> torch.Tensor:
        try:
            raise KeyError("handled")
        except KeyError:
            return checkpoint(body, x, use_reentrant=False)

    caught = []
    for fn in (outer, armature.compile(outer)):
        with pytest.raises(IndexError) as info:
            fn(torch.ones(3, requires_grad=True))
        context = info.value.__context__
        caught.append((str(info.value), repr(context), info.traceback[-1].lineno))
    assert caught[0] == caught[1]
