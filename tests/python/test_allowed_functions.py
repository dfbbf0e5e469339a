"""Functions of the program's that it puts into graphs as they are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import armature
import pytest
import torch

SCALE = torch.full((3,), 2.0)


@torch.compiler.allow_in_graph
def shifted(x: torch.Tensor, by: int = 1) -> torch.Tensor:
    return x.sin().cos() + by


@torch._dynamo.nonstrict_trace
def scaled(x: torch.Tensor, pair: tuple[torch.Tensor, int]) -> dict[str, Any]:
    torch._dynamo.graph_break()
    return {"scaled": x * SCALE + pair[0], "count": pair[1]}


@torch.compiler.allow_in_graph
def noisy(x: torch.Tensor) -> torch.Tensor:
    return x + torch.randn(3)


@torch.compiler.allow_in_graph
def decides(x: torch.Tensor) -> torch.Tensor:
    return x + 1 if x.sum() > 0 else x - 1


@torch.compiler.allow_in_graph
def raises(x: torch.Tensor) -> torch.Tensor:
    raise ValueError("raised inside")


def uses_shifted(x: torch.Tensor) -> torch.Tensor:
    return shifted(x * 2, by=3) + shifted(x)


def uses_scaled(x: torch.Tensor) -> Any:
    result = scaled(x + 1, (x, 3))
    return result["scaled"] * result["count"]


@torch._dynamo.nonstrict_trace
def pair_of(x: torch.Tensor, pair: tuple[torch.Tensor, int]) -> tuple[torch.Tensor, list[Any]]:
    torch._dynamo.graph_break()
    return x * SCALE + pair[0], [pair[1], pair[0]]


def uses_pair_of(x: torch.Tensor) -> torch.Tensor:
    result, (count, same) = pair_of(x + 1, (x, 3))
    return result * count + same


def uses_noisy(x: torch.Tensor) -> torch.Tensor:
    return noisy(x) * torch.randn(3)


def uses_decides(x: torch.Tensor) -> torch.Tensor:
    return decides(x + 1) * 2


def uses_raises(x: torch.Tensor) -> torch.Tensor:
    return raises(x) * 2


PROGRAMS = [uses_shifted, uses_scaled, uses_pair_of, uses_noisy, uses_decides, uses_raises]


def foreign(module: torch.fx.GraphModule, inputs: list[Any]) -> Callable[..., Any]:
    return module.forward


def outcome(function: Callable[..., Any], x: torch.Tensor) -> Any:
    torch.manual_seed(0)
    try:
        result = function(x)
    except ValueError as error:
        return repr(error)
    if result.requires_grad:
        result.sum().backward()
    return repr((result.detach(), x.grad, torch.rand(1)))


@pytest.mark.parametrize("backend", ["eager", foreign])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda each: each.__name__)
def test_allowed_functions(program: Callable[..., Any], backend: Any) -> None:
    compiled = armature.compile(program, backend=backend)
    for requires_grad in (False, True, True):
        plain = torch.ones(3, requires_grad=requires_grad)
        captured = torch.ones(3, requires_grad=requires_grad)
        assert outcome(compiled, captured) == outcome(program, plain)


@pytest.mark.parametrize("program", [uses_shifted, uses_pair_of, uses_noisy])
def test_allowed_functions_are_one_operation(program: Callable[..., Any]) -> None:
    targets = []

    def backend(module: torch.fx.GraphModule, inputs: list[Any]) -> Callable[..., Any]:
        targets.extend(node.target for node in module.graph.nodes)
        return module.forward

    armature.compile(program, backend=backend, fullgraph=True)(torch.ones(3))
    assert targets.count(shifted) == 2 * (program is uses_shifted)
    assert not {torch.sin, "sin"} & {each for each in targets if isinstance(each, str)}


@torch.compiler.allow_in_graph
class Allowed(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, by: int) -> torch.Tensor:
        torch._dynamo.graph_break()
        ctx.by = by
        return x * by

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> Any:
        return gradient * ctx.by * 10, None


def uses_allowed(x: torch.Tensor) -> torch.Tensor:
    return Allowed.apply(x + 1, 3) * 2


@pytest.mark.parametrize("backend", ["eager", lambda module, inputs: module.forward])
def test_an_autograd_function(backend: Any) -> None:
    compiled = armature.compile(uses_allowed, backend=backend, fullgraph=True)
    for requires_grad in (True, False, True):
        results = []
        for function in (uses_allowed, compiled):
            x = torch.arange(1.0, 4.0, requires_grad=requires_grad)
            result = function(x)
            if requires_grad:
                result.sum().backward()
            results.append((result.tolist(), x.grad))
        assert str(results[0]) == str(results[1])


def test_another_class_in_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    class Other(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor, by: int) -> torch.Tensor:
            return x - by

        @staticmethod
        def backward(ctx: Any, gradient: torch.Tensor) -> Any:
            return gradient, None

    compiled = armature.compile(uses_allowed)
    x = torch.arange(1.0, 4.0, requires_grad=True)
    assert torch.equal(compiled(x), uses_allowed(x))
    monkeypatch.setitem(globals(), "Allowed", Other)
    assert torch.equal(compiled(x), uses_allowed(x))
    monkeypatch.setattr(Other, "forward", staticmethod(lambda ctx, x, by: x / by))
    assert torch.equal(compiled(x), uses_allowed(x))
