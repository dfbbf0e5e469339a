"""Profiles that captured functions enter are left out, unless the program uses them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import armature
import pytest
import torch
from differential import break_reasons


def foreign(module: torch.fx.GraphModule, inputs: list[Any]) -> Callable[..., Any]:
    return module.forward


def profiled(x: torch.Tensor) -> torch.Tensor:
    y = x**2
    with torch.profiler.profile():
        y = y + 2
        with torch.autograd.profiler.profile():
            z = y**3
    return z


def profiled_around_a_break(x: torch.Tensor) -> torch.Tensor:
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]):
        y = x + 2
        armature.graph_break()
        y = y * 3
    return y


def raises_in_a_profile(x: torch.Tensor) -> torch.Tensor:
    try:
        with torch.autograd.profiler.profile():
            raise ValueError(x.shape)
    except ValueError:
        return x + 1


def uses_the_profile(x: torch.Tensor) -> int:
    with torch.autograd.profiler.profile() as profile:
        y = x.sin() + x.cos()
    return len(profile.function_events) > 0, y


def returns_the_profile(x: torch.Tensor) -> Any:
    with torch.profiler.profile() as profile:
        x.sin()
    return len(profile.events()) > 0


@pytest.mark.filterwarnings("ignore:.*[Pp]rofile")
@pytest.mark.parametrize("backend", ["eager", foreign])
@pytest.mark.parametrize(
    "program",
    [
        profiled,
        profiled_around_a_break,
        raises_in_a_profile,
        uses_the_profile,
        returns_the_profile,
    ],
    ids=lambda each: each.__name__,
)
def test_profiles(program: Callable[..., Any], backend: Any) -> None:
    compiled = armature.compile(program, backend=backend)
    x = torch.ones(3)
    for _ in range(2):
        torch.testing.assert_close(compiled(x), program(x))


@pytest.mark.filterwarnings("ignore:.*[Pp]rofile")
def test_profiles_are_left_out() -> None:
    compiled = armature.compile(profiled, fullgraph=True)
    compiled(torch.ones(3))
    assert not break_reasons(compiled)
