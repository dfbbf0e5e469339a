"""The items of an iterator over a tensor are made when it is, in the modes of that moment."""

from __future__ import annotations

import logging
from typing import Any

import armature
import pytest
import torch


def taken_without_gradients(x: torch.Tensor) -> Any:
    rows = iter(x)
    with torch.no_grad():
        row = next(rows)
    return row * 2


def made_without_gradients(x: torch.Tensor) -> Any:
    with torch.no_grad():
        rows = iter(x)
    armature.graph_break()
    return [row.grad_fn is None for row in rows]


def branch_on_data(x: torch.Tensor) -> Any:
    with torch.no_grad():
        for row in x:
            if row.sum() > 5:
                return row
    return None


def break_in_another_mode(x: torch.Tensor) -> Any:
    total: Any = 0
    for row in x:
        with torch.no_grad():
            armature.graph_break()
        total = total + row
    return total


def in_a_comprehension(x: torch.Tensor) -> Any:
    with torch.no_grad():
        found = next((row for row in x if row.sum() > 5), None)
    return found


def in_pairs(x: torch.Tensor) -> Any:
    with torch.autocast("cpu"):
        for number, (row, other) in enumerate(zip(x, reversed(x), strict=True)):
            print(number)
            x = x + (row @ other)
    return x


def of_numpy(x: torch.Tensor) -> Any:
    with torch.no_grad():
        rows = iter(x.detach().numpy())
    armature.graph_break()
    return [row.sum() for row in rows]


@pytest.mark.parametrize("size", [3, 300])
@pytest.mark.parametrize(
    "program",
    [
        taken_without_gradients,
        made_without_gradients,
        branch_on_data,
        break_in_another_mode,
        in_a_comprehension,
        in_pairs,
        of_numpy,
    ],
    ids=lambda each: each.__name__,
)
def test_modes(program: Any, size: int, caplog: pytest.LogCaptureFixture) -> None:
    captured = armature.compile(program)
    with caplog.at_level(logging.WARNING, "armature"):
        for _ in range(2):
            x, y = (torch.ones(size, 3, requires_grad=True) for _ in range(2))
            expected, actual = program(x), captured(y)
            assert str(expected).split("grad_fn")[0] == str(actual).split("grad_fn")[0]
            if isinstance(expected, torch.Tensor) and expected.grad_fn:
                expected.sum().backward()
                actual.sum().backward()
                assert torch.equal(x.grad, y.grad)
            elif isinstance(expected, torch.Tensor):
                assert actual.grad_fn is None
    assert not caplog.records


def test_more_than_a_graph_takes() -> None:
    def program(x: torch.Tensor) -> Any:
        for row in x:
            if row > 4:
                return row
        return None

    x = torch.arange(1e6)
    assert armature.compile(program)(x) == program(x)
