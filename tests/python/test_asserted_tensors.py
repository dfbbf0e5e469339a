"""`assert tensor` is an operation of the graph, and raises what Python raises.

PYTEST_DONT_REWRITE: the assertions are what is tested.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import armature
import pytest
import torch
from differential import break_reasons

SEEN: list[str] = []


def with_message(x: torch.Tensor) -> torch.Tensor:
    assert (x > 0).all(), "not all are positive"
    return x + 1


def without_message(x: torch.Tensor) -> torch.Tensor:
    y = x * 2
    assert y.sum() > 0
    return y.cos()


def with_a_text_of_its_own(x: torch.Tensor) -> torch.Tensor:
    assert (x > 0).all(), f"not all of {x.shape} are positive"
    return x + 1


def caught(x: torch.Tensor) -> torch.Tensor:
    try:
        assert (x > 0).all(), "caught"
    except AssertionError as error:
        return x * len(str(error))
    finally:
        SEEN.append("finally")
    return x + 1


def behind_a_change(x: torch.Tensor) -> torch.Tensor:
    x.add_(1)
    SEEN.append("changed")
    assert (x > 1).all(), "behind"
    x.mul_(2)
    SEEN.append("passed")
    return x.sum()


def of_several_values(x: torch.Tensor) -> torch.Tensor:
    assert x > 0, "ambiguous"
    return x


def drawn(x: torch.Tensor) -> torch.Tensor:
    noise = torch.rand(3)
    assert x.sum() > 0, "drawn"
    return x + noise + torch.rand(3)


PROGRAMS: list[Callable[[torch.Tensor], Any]] = [
    with_message,
    without_message,
    with_a_text_of_its_own,
    caught,
    behind_a_change,
    of_several_values,
    drawn,
]
INPUTS = [[1.0, 2.0, 3.0], [-1.0, 2.0, 3.0], [-9.0, 2.0, 3.0], [float("nan"), 1.0, 1.0]]


def foreign(module: torch.fx.GraphModule, inputs: list[Any]) -> Callable[..., Any]:
    return module.forward


@pytest.mark.parametrize("backend", ["eager", foreign, "aot_eager"])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda each: each.__name__)
def test_assertions(program: Callable[[torch.Tensor], Any], backend: Any) -> None:
    compiled = armature.compile(program, backend=backend)
    for values in INPUTS * 2:
        plain = torch.tensor(values)
        captured = plain.clone()
        outcomes = []
        for function, given in ((program, plain), (compiled, captured)):
            SEEN.clear()
            torch.manual_seed(0)
            try:
                result: Any = function(given)
            except (AssertionError, RuntimeError) as error:
                result = (type(error), str(error))
            outcomes.append(repr((result, SEEN, given, torch.rand(1))))
        assert outcomes[1] == outcomes[0]


@pytest.mark.parametrize("program", [with_message, without_message, caught, drawn])
def test_assertions_do_not_break_graphs(program: Callable[[torch.Tensor], Any]) -> None:
    counts = []

    def backend(module: torch.fx.GraphModule, inputs: list[Any]) -> Callable[..., Any]:
        counts.append(sum("_assert_async" in str(node.target) for node in module.graph.nodes))
        return module.forward

    compiled = armature.compile(program, backend=backend, fullgraph=program is not caught)
    compiled(torch.ones(3))
    assert counts == [1]
    assert program is caught or not break_reasons(compiled)


def in_a_checkpoint(x: torch.Tensor) -> torch.Tensor:
    def body(y: torch.Tensor) -> torch.Tensor:
        assert y.sum() > 0, "in a body"
        return y.sin()

    return torch.utils.checkpoint.checkpoint(body, x, use_reentrant=False).sum()


class Asserts(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        assert x.sum() > -20, "forward"
        return x.clone()

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> torch.Tensor:
        assert gradient.sum() > 0, "backward"
        return gradient


def in_a_function(x: torch.Tensor) -> torch.Tensor:
    return (Asserts.apply(x) * x).sum()


def in_a_transform(x: torch.Tensor) -> torch.Tensor:
    def each(y: torch.Tensor) -> torch.Tensor:
        assert y > 0, "each"
        return y * 2

    return torch.vmap(each)(x)


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("program", [in_a_checkpoint, in_a_function, in_a_transform])
def test_assertions_in_bodies(program: Callable[[torch.Tensor], Any], backend: Any) -> None:
    compiled = armature.compile(program, backend=backend)
    for values in INPUTS:
        outcomes = []
        for function in (program, compiled):
            x = torch.tensor(values, requires_grad=True)
            try:
                result = function(x)
                x.data.neg_()
                result.sum().backward()
                outcomes.append(repr((result.detach(), x.grad)))
            except (AssertionError, RuntimeError) as error:
                outcomes.append(repr((type(error), str(error).splitlines()[0])))
        assert outcomes[1] == outcomes[0]


class Strange(torch.Tensor):
    def __bool__(self) -> bool:
        return False


def test_a_class_that_answers_itself() -> None:
    def program(x: torch.Tensor) -> torch.Tensor:
        assert x, "it says no"
        return x

    with pytest.raises(AssertionError, match="it says no"):
        armature.compile(program)(torch.ones(1).as_subclass(Strange))


def test_an_assertion_in_the_graph_that_torch_was_asked_for() -> None:
    def program(x: torch.Tensor) -> torch.Tensor:
        torch._assert_async((x > 0).all(), "negative")
        return x + 1

    compiled = armature.compile(program, backend=foreign, fullgraph=True)
    assert torch.equal(compiled(torch.ones(3)), torch.full((3,), 2.0))
    with pytest.raises(RuntimeError, match="negative"):
        compiled(-torch.ones(3))
