"""Hooks of modules: where forward() raises (``always_call=True``), and found in other ways."""

from __future__ import annotations

import copy
import traceback
from collections.abc import Callable
from typing import Any

import armature
import pytest
import torch
from torch import nn

LOG: list[Any] = []


class Raising(torch.nn.Module):
    def __init__(self, breaks: bool) -> None:
        super().__init__()
        self.breaks = breaks
        self.count = 0

    def forward(self, x: torch.Tensor, limit: int) -> torch.Tensor:
        self.count += 1
        if self.breaks:
            armature.graph_break()
        if x.shape[0] > limit:
            raise ValueError("too long")
        return x[limit - 1 :] * x[torch.tensor(limit - 1)]


class Outer(torch.nn.Module):
    def __init__(self, inner: Raising) -> None:
        super().__init__()
        self.inner = inner

    def forward(self, x: torch.Tensor, limit: int) -> Any:
        try:
            return self.inner(x, limit)
        except ValueError as error:
            return str(error)


def hook(module: Raising, arguments: Any, output: Any) -> None:
    LOG.append((module.count, len(arguments), output is None))


def failing_hook(module: Raising, arguments: Any, output: Any) -> None:
    LOG.append("fails")
    raise KeyError(module.count)


def observe(module: Callable[..., Any], *arguments: Any) -> Any:
    LOG.clear()
    try:
        result = module(*arguments)
    except Exception as error:
        frames = traceback.extract_tb(error.__traceback__)
        lines = [(frame.name, frame.lineno) for frame in frames if frame.filename == __file__]
        result = (repr(error), repr(error.__context__), lines)
    return repr((result, LOG))


def as_given(module: Any) -> Any:
    return module


def handled(module: Any) -> Any:
    return Outer(module)


@pytest.mark.parametrize("breaks", [False, True])
@pytest.mark.parametrize("around", [as_given, handled])
@pytest.mark.parametrize("second", [None, hook, failing_hook])
def test_hooks_are_called_where_forward_raises(breaks: bool, around: Any, second: Any) -> None:
    def make() -> Any:
        inner = Raising(breaks)
        inner.register_forward_hook(hook, always_call=True)
        if second:
            inner.register_forward_hook(second, always_call=second is hook)
        return around(inner)

    plain, compiled = make(), armature.compile(make())
    for length, limit in ((2, 3), (3, 3), (4, 3), (4, 3), (3, 2), (2, 2), (1, 2)):
        given = torch.arange(float(length)), limit
        assert observe(compiled, *given) == observe(plain, *given)


def test_hooks_of_all_modules() -> None:
    handle = torch.nn.modules.module.register_module_forward_hook(hook, always_call=True)
    try:
        plain, compiled = Raising(True), armature.compile(Raising(True))
        for length in (2, 4, 3, 4):
            given = torch.arange(float(length)), 3
            assert observe(compiled, *given) == observe(plain, *given)
    finally:
        handle.remove()


class Doubling(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * 2


def plus_one(module: nn.Module, arguments: Any, output: torch.Tensor) -> torch.Tensor:
    return output + 1


def through_a_dict(hooks: dict[int, Any], module: nn.Module, x: torch.Tensor) -> float:
    hooks[5] = plus_one
    result = module(x).item()
    del hooks[5]
    return result


def through_a_module(hooks: Doubling, module: nn.Module, x: torch.Tensor) -> float:
    with hooks.register_forward_hook(plus_one):
        return module(x).item()


@pytest.mark.parametrize("first", [0, 1])
@pytest.mark.parametrize("many", [False, True])
def test_hooks_that_are_reached_in_another_way(first: int, many: bool) -> None:
    """The dict of a module's hooks, or of all modules', is written as another one's, or alone."""
    module, other = Doubling(), Doubling()
    called = nn.Sequential(*[Doubling() for _ in range(3)], module) if many else module
    registry = torch.nn.modules.module._global_forward_hooks
    x = torch.ones(1)
    for function, given in [
        (through_a_module, [other, copy.copy(module), module]),
        (through_a_dict, [other._forward_hooks, module._forward_hooks, registry]),
    ]:
        compiled = armature.compile(function)
        for hooks in given[first:] + given:
            assert compiled(hooks, called, x) == function(hooks, called, x)
