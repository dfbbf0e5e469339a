"""A graph that was made with arguments apart, or that has let go of what effects had, raises."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from typing import Any

import armature
import pytest
import torch

LOG: list[Any] = []


class Holder:
    cached: Any = None


HOLDER = Holder()
TABLE: dict[str, Any] = {}


def with_a_handler(a: Any, b: Any, i: Any) -> Any:
    LOG.append("before")
    a.add_(b)
    try:
        return torch.gather(b, 0, i)
    except RuntimeError:
        LOG.append("handled")
        return None


def without_a_handler(a: Any, b: Any, i: Any) -> Any:
    LOG.append("before")
    a.add_(b)
    return torch.gather(b, 0, i)


def that_only_reads_them(a: Any, b: Any, i: Any) -> Any:
    torch.rand(1)
    LOG.append("before")
    return (a + b)[i]


def from_a_list(a: Any, b: Any, i: Any) -> Any:
    first, second = [a, b]
    first.mul_(2)
    LOG.append(second.shape[0])
    return (first * second).gather(0, i)


ALIASED = [with_a_handler, without_a_handler, that_only_reads_them, from_a_list]


def a_list_item(x: Any, i: Any) -> Any:
    LOG.append(x * 2)
    x.add_(1)
    y = x[i]
    LOG.pop()
    return y


def an_attribute(x: Any, i: Any) -> Any:
    HOLDER.cached = x * 2
    x.add_(1)
    y = x[i]
    HOLDER.cached = None
    return y


def an_item_of_a_dict(x: Any, i: Any) -> Any:
    TABLE["x"] = [x * 2]
    x.add_(1)
    y = x[i]
    TABLE["x"] = y
    return y


def a_new_list_that_is_emptied(x: Any, i: Any) -> Any:
    made = [x * 3]
    LOG.append(made)
    x.add_(1)
    y = x[i]
    made.clear()
    return y


def behind_random_numbers(x: Any, i: Any) -> Any:
    LOG.append(x - 1)
    LOG.append(torch.rand(1) * 0)
    y = x[i]
    del LOG[:]
    return y


def under_a_setting(x: Any, i: Any) -> Any:
    torch.set_default_dtype(torch.float64)
    LOG.append(torch.ones(1))
    x.add_(1)
    y = x[i]
    LOG.pop()
    torch.set_default_dtype(torch.float32)
    return y


def in_a_cell(x: Any, i: Any) -> Any:
    kept = None

    def keep() -> Any:
        return kept

    LOG.append(keep)
    kept = x * 2
    x.add_(1)
    y = x[i]
    kept = y
    return y


def one_after_the_other(x: Any, i: Any) -> Any:
    x.add_(1)
    for n in range(3):
        LOG.append(x * n)
        y = x[i * (n == 2)]
        LOG.pop()
    return y


LET_GO = [
    a_list_item,
    an_attribute,
    an_item_of_a_dict,
    a_new_list_that_is_emptied,
    behind_random_numbers,
    under_a_setting,
    in_a_cell,
    one_after_the_other,
]


def outcome(call: Callable[..., Any], *arguments: Any) -> str:
    LOG.clear()
    TABLE.clear()
    HOLDER.cached = None
    torch.manual_seed(0)
    try:
        result = repr(call(*arguments))
    except Exception as error:
        frames = traceback.extract_tb(error.__traceback__)
        lines = [(f.name, f.lineno) for f in frames if f.filename == __file__]
        result = repr((type(error), str(error), lines[1:]))
    seen = [each() if callable(each) else each for each in LOG]
    state = repr((seen, TABLE, HOLDER.cached, torch.get_default_dtype(), torch.rand(1)))
    torch.set_default_dtype(torch.float32)
    return result + state + repr(arguments)


@pytest.mark.parametrize("function", ALIASED)
def test_arguments_that_are_one(function: Any) -> None:
    def arguments(same: bool, index: int) -> Any:
        a = torch.ones(4)
        return a, a if same else torch.ones(4), torch.tensor([index])

    compiled = armature.compile(function)
    for same, index in ((False, 0), (True, 9), (False, 9), (True, 0), (True, 9)):
        expected = outcome(function, *arguments(same, index))
        assert outcome(compiled, *arguments(same, index)) == expected


@pytest.mark.parametrize("function", LET_GO)
def test_what_effects_had(function: Any) -> None:
    compiled = armature.compile(function)
    for index in (5, 0, 5):
        expected = outcome(function, torch.arange(3.0), torch.tensor([index]))
        assert outcome(compiled, torch.arange(3.0), torch.tensor([index])) == expected
