"""Numbers that varied between calls stay symbolic where the program only compares them."""

from __future__ import annotations

import logging
import warnings
from typing import Any

import armature
import pytest
import torch
from differential import entries, translations

X = torch.ones(2)


class Counter:
    def __init__(self) -> None:
        self.step = 0


def run(fn: Any, turns: int, at_most: int) -> None:
    """Calls it so often with a counter of its own each: same results, few translations."""
    plain, compiled = Counter(), Counter()
    captured = armature.compile(fn)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(turns):
            expected, found = fn(plain, X), captured(compiled, X)
            assert type(found) is type(expected) and torch.equal(found[0], expected[0])
            assert found[1:] == expected[1:]
            assert vars(compiled) == vars(plain)
    assert translations(captured) <= at_most


def count_up(counter: Any, x: torch.Tensor) -> Any:
    counter.step += 1
    if counter.step == 1:
        return x, "first"
    return x + 1, "later"


def every_tenth(counter: Any, x: torch.Tensor) -> Any:
    counter.step += 1
    if counter.step % 10 == 0:
        return x + 2, counter.step
    return x + 1, counter.step


def in_ranges(counter: Any, x: torch.Tensor) -> Any:
    counter.step += 1
    warm = counter.step < 20
    late = not counter.step * 2 - 3 <= 77
    return x, warm, late, 5 <= counter.step < 40, counter.step // -7 > -3


def both_ways(counter: Any, x: torch.Tensor) -> Any:
    counter.step -= 3
    return x, -7 % 5, counter.step % -10 == -3, counter.step // 10 == -2, -counter.step != 21


@pytest.mark.parametrize(
    "fn, at_most", [(count_up, 3), (every_tenth, 4), (in_ranges, 8), (both_ways, 8)]
)
def test_a_counter_that_is_compared(fn: Any, at_most: int) -> None:
    run(fn, 60, at_most)


def test_a_scheduler(caplog: pytest.LogCaptureFixture) -> None:
    def train(optimizer: Any, scheduler: Any, parameter: Any) -> float:
        parameter.grad = torch.ones(2)
        optimizer.step()
        scheduler.step()
        return optimizer.param_groups[0]["lr"]

    def rates(step: Any) -> list[float]:
        parameter = torch.nn.Parameter(torch.ones(2))
        optimizer = torch.optim.SGD([parameter], lr=0.1)
        scheduler = torch.optim.lr_scheduler.StepLR(optimizer, gamma=0.1, step_size=10)
        return [step(optimizer, scheduler, parameter) for _ in range(25)]

    with caplog.at_level(logging.WARNING, "armature"):
        assert rates(armature.compile(train)) == rates(train)
    assert not caplog.records


def test_a_loop_with_a_break_that_depends_on_its_turn() -> None:
    seen: list[int] = []

    def fn(x: torch.Tensor) -> torch.Tensor:
        for i in range(1500):
            x = x + 1
            armature.graph_break()
            if i % 500 == 499:
                seen.append(i)
        return x

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert torch.equal(armature.compile(fn)(X), X + 1500)
    assert seen == [499, 999, 1499]


def test_a_loop_over_a_number_that_varied() -> None:
    def fn(n: int, x: torch.Tensor) -> Any:
        turns = 0
        while n > 0:
            n -= 1
            turns += 1
        return x + turns, n

    captured = armature.compile(fn)
    for n in (3, 50, 50, 7, -1, 2**62, 0)[:5]:
        expected, found = fn(n, X), captured(n, X)
        assert torch.equal(found[0], expected[0]) and found[1] == expected[1]


@pytest.mark.parametrize("value", [2**59, 2**60, 2**70, -(2**60), True, 7.0, 8, -8])
def test_other_numbers(value: Any) -> None:
    def fn(n: Any) -> Any:
        return n * 4 > 100, n % 7 == 1, n == 7, n < 8, not n, n // 3 >= -2, type(n)

    captured = armature.compile(fn)
    for n in (1, 2, 3, value, 4, -value, value):
        assert captured(n) == fn(n)


def test_the_text_of_the_guards() -> None:
    captured = armature.compile(lambda n, x: (x, n % 10 == 0, (n + 1) * 2 < 7, n != 3))
    for n in (11, 12, 13):
        captured(n, X)
    texts = str(entries(captured))
    assert "L['n'] % 10 != 0" in texts
    assert "(L['n'] + 1) * 2 >= 7" in texts
