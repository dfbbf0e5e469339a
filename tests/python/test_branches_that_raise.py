"""`if tensor: raise …` does not break the graph: that it does not raise is an operation of it.
Where it does, Python raises what the program raises."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import armature
import pytest
import torch
from differential import break_reasons
from torch import distributions

SEEN: list[Any] = []


class Refused(Exception):
    pass


def unless(x: torch.Tensor) -> Any:
    if not (x > 0).all():
        raise ValueError(f"{x} of {tuple(x.shape)} is not positive")
    return x + 1


def if_any(x: torch.Tensor) -> Any:
    y = x * 2
    if (y < 0).any():
        message = "negative: " + str(y.tolist())
        raise Refused(message) from KeyError("cause")
    return y.cos()


def either(x: torch.Tensor) -> Any:
    if x.isnan().any() or x.sum() < 0:
        raise Refused("either")
    return x * 2


def both(x: torch.Tensor) -> Any:
    if x.sum() < 0 and x.min() < -5:
        raise Refused("both")
    return x * 2


def otherwise(x: torch.Tensor) -> Any:
    if x.sum() > 0:
        y = x + 1
    else:
        raise Refused("otherwise")
    return y


def caught(x: torch.Tensor) -> Any:
    try:
        if x.min() < 0:
            raise Refused("caught")
    except Refused as error:
        return x * len(str(error))
    finally:
        SEEN.append("finally")
    return x + 1


def behind_changes(x: torch.Tensor) -> Any:
    x.add_(1)
    SEEN.append("changed")
    if x.min() < 0:
        SEEN.append(x.clone())
        raise Refused("behind")
    x.mul_(2)
    SEEN.append("passed")
    return x.sum()


def in_a_loop(x: torch.Tensor) -> Any:
    for turn in range(3):
        x = x - 1
        if x.min() < -3:
            raise Refused(turn)
    return x


def bare(x: torch.Tensor) -> Any:
    try:
        raise KeyError("handled")
    except KeyError:
        if x.min() < 0:
            raise
    return x


def of_several_values(x: torch.Tensor) -> Any:
    if x > 0:
        raise Refused("ambiguous")
    return x


def of_a_float(x: torch.Tensor) -> Any:
    if x.min() - x.min():
        raise Refused("not a number")
    return x


def without_gradients(x: torch.Tensor) -> Any:
    with torch.no_grad():
        y = x * 2
        if y.min() < 0:
            raise Refused(torch.is_grad_enabled())
    return y


def drawn(x: torch.Tensor) -> Any:
    noise = torch.rand(3)
    if x.sum() < 0:
        raise Refused(torch.rand(1))
    return x + noise + torch.rand(3)


def normal(x: torch.Tensor) -> Any:
    return distributions.Normal(x, x).log_prob(x)


def categorical(x: torch.Tensor) -> Any:
    distribution = distributions.Categorical(logits=x)
    return distribution.entropy(), distribution.log_prob(torch.tensor(1))


def divergence(x: torch.Tensor) -> Any:
    one, other = distributions.Normal(0.0, x), distributions.Normal(x, 2.0)
    return distributions.kl_divergence(one, other), one.rsample()


PROGRAMS: list[Callable[[torch.Tensor], Any]] = [
    unless,
    if_any,
    either,
    both,
    otherwise,
    caught,
    behind_changes,
    in_a_loop,
    bare,
    of_several_values,
    of_a_float,
    without_gradients,
    drawn,
    normal,
    categorical,
    divergence,
]
INPUTS = [[1.0, 2.0, 3.0], [-1.0, 2.0, 3.0], [-9.0, 2.0, 3.0], [float("nan"), 1.0, 1.0]]


def foreign(module: torch.fx.GraphModule, inputs: list[Any]) -> Callable[..., Any]:
    return module.forward


def outcome(function: Callable[..., Any], values: list[float], requires_grad: bool) -> str:
    given = torch.tensor(values)
    x = (given.clone().requires_grad_() * 1) if requires_grad else given
    SEEN.clear()
    torch.manual_seed(0)
    context: Any = None
    try:
        result: Any = function(x)
    except (Refused, ValueError, KeyError, RuntimeError) as error:
        result = (type(error), str(error))
        context = repr((error.__cause__, error.__context__, error.__suppress_context__))
    seen = repr((result, SEEN, x, torch.rand(1), context, torch.is_grad_enabled()))
    return re.sub(
        r"grad_fn=<\w+>", "grad_fn", seen
    )  # A backend's functions have names of their own.


@pytest.mark.parametrize("requires_grad", [False, True])
@pytest.mark.parametrize("backend", ["eager", foreign, "aot_eager"])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda each: each.__name__)
def test_does_what_plain_python_does(
    program: Callable[[torch.Tensor], Any], backend: Any, requires_grad: bool
) -> None:
    compiled = armature.compile(program, backend=backend)
    for values in INPUTS * 2:
        expected = outcome(program, values, requires_grad)
        assert outcome(compiled, values, requires_grad) == expected


@pytest.mark.parametrize(
    "program",
    [unless, if_any, either, otherwise, in_a_loop, drawn, normal],
)
@pytest.mark.parametrize("backend", ["eager", foreign])
def test_is_one_graph(program: Callable[[torch.Tensor], Any], backend: Any) -> None:
    compiled = armature.compile(program, backend=backend)
    compiled(torch.ones(3))
    assert not break_reasons(compiled)


def test_where_the_program_raises_its_traceback_says_so() -> None:
    lines = []
    for function in (if_any, armature.compile(if_any)):
        with pytest.raises(Refused) as info:
            function(-torch.ones(3))
        lines.append([(entry.name, entry.lineno) for entry in info.traceback[1:]])
    assert lines[0] == lines[1] and lines[0]


def test_a_loop_that_ends_by_an_exception() -> None:
    def run(step: Callable[[torch.Tensor], torch.Tensor]) -> Any:
        x, turns = torch.zeros(2), 0
        try:
            while True:
                x = step(x)
                turns += 1
        except StopIteration as end:
            return turns, x, end.value

    def step(x: torch.Tensor) -> torch.Tensor:
        y = x + 1
        if y.sum() > 100:
            raise StopIteration(y)
        return y

    assert repr(run(armature.compile(step))) == repr(run(step))
    assert repr(armature.compile(lambda: run(step))()) == repr(run(step))
