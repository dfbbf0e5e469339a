"""A graph that has changed something raises where the program holds what the graph has dropped."""

from __future__ import annotations

import traceback
from typing import Any

import armature
import numpy as np
import pytest
import torch

W, LONGER, V = torch.ones(2), torch.ones(3), np.ones(2)
LOG: list[Any] = []


class Point:
    pass


def in_a_list(a: torch.Tensor) -> Any:
    W.add_(1)
    LOG.append(1)
    out = [a + 1]
    out.append(LONGER * a)


def behind_numpy(a: torch.Tensor) -> Any:
    LOG.append(1)
    out = [V + 1]
    out.append(LONGER * a)


def before_the_effect(a: torch.Tensor) -> Any:
    W.add_(1)
    out = [a + 1]
    LOG.append(1)
    out.append(LONGER * a)


def inner(a: torch.Tensor) -> Any:
    out = [a + 1]
    out.append(LONGER * a)


def in_an_inlined_function(a: torch.Tensor) -> Any:
    W.add_(1)
    LOG.append(1)
    inner(a)


def in_a_loop(a: torch.Tensor) -> Any:
    W.add_(1)
    LOG.append(1)
    for _ in [a + 1, a + 2]:
        LONGER * a


def in_an_object(a: torch.Tensor) -> Any:
    W.add_(1)
    LOG.append(1)
    point: Any = Point()
    point.x = a + 1
    point.y = LONGER * a


def used_before(a: torch.Tensor) -> Any:
    W.add_(1)
    out = [a + 1]
    LOG.append(2)
    out[0] * 2
    out.append(LONGER * a)


CASES = [
    in_a_list,
    behind_numpy,
    before_the_effect,
    in_an_inlined_function,
    in_a_loop,
    in_an_object,
]


@pytest.mark.parametrize("fn", [*CASES, used_before])
def test_effects_happen_and_the_exception_is_the_programs(fn: Any) -> None:
    def run(call: Any) -> Any:
        LOG.clear()
        W.fill_(1)
        with pytest.raises(RuntimeError, match="must match the size") as caught:
            call(torch.ones(2))
        frames = traceback.extract_tb(caught.value.__traceback__)
        lines = [(f.name, f.lineno) for f in frames if f.filename == __file__ and f.name != "run"]
        return str(caught.value), lines, list(LOG), W.tolist()

    expected = run(fn)
    compiled = armature.compile(fn)
    assert [run(compiled) for _ in range(2)] == [expected] * 2
