"""A graph raises that was made with arguments apart, of an array that is read twice, or that has
let go of what effects had."""

from __future__ import annotations

import sys
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


class Statistics:
    mean = torch.tensor([0.1, 0.2, 0.3])
    table = torch.ones(4)

    @property
    def shown(self) -> Any:
        return self.table

    @classmethod
    def of_class(cls) -> Any:
        return cls.table


MEAN = torch.tensor([0.1, 0.2, 0.3])


def of_a_class(x: Any, i: Any) -> Any:
    y = x - Statistics.mean
    x.add_(1)
    LOG.append("between")
    return y * Statistics.mean + Statistics.table[i] + Statistics.table[0]


def looked_at_before(x: Any, i: Any) -> Any:
    x = x + torch.rand(3)
    LOG.append("before")
    if isinstance(Statistics.table, torch.Tensor) and Statistics.table.dim() == 1:
        x = Statistics.table[i] + x
    LOG.append("behind")
    return x


def of_an_instance(x: Any, i: Any) -> Any:
    statistics = Statistics()
    x.mul_(2)
    LOG.append(statistics.shown.shape)
    y = statistics.table.sum() + Statistics.of_class()[0]
    LOG.append("between")
    return type(statistics).table[i] + y


def of_a_module(x: Any, i: Any) -> Any:
    module = sys.modules[__name__]
    x.mul_(2)
    y = module.MEAN + MEAN
    LOG.append("between")
    return y + MEAN[i] + module.Statistics.mean


READ_TWICE = [of_a_class, looked_at_before, of_an_instance, of_a_module]


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


@pytest.mark.parametrize("function", LET_GO + READ_TWICE)
def test_what_came_before(function: Any) -> None:
    compiled = armature.compile(function)
    for index in (5, 0, 5):
        expected = outcome(function, torch.arange(3.0), torch.tensor([index]))
        assert outcome(compiled, torch.arange(3.0), torch.tensor([index])) == expected
