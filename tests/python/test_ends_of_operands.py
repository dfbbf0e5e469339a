"""The operands of an instruction whose special method broke end in CPython's order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import armature
import pytest
import torch

LOG: list[str] = []


class Heard:
    def __init__(self, name: str) -> None:
        self.name = name

    def __del__(self) -> None:
        LOG.append(self.name)


class Breaks(Heard):
    def __add__(self, other: Any) -> int:
        armature.graph_break()
        return 1

    def __lt__(self, other: Any) -> bool:
        armature.graph_break()
        return True

    def __contains__(self, item: Any) -> bool:
        armature.graph_break()
        return False

    def __getitem__(self, key: Any) -> int:
        armature.graph_break()
        return 2

    def __setitem__(self, key: Any, value: Any) -> None:
        armature.graph_break()

    def __delitem__(self, key: Any) -> None:
        armature.graph_break()

    def __matmul__(self, other: Any) -> int:
        print(end="")
        return 3

    def __setattr__(self, name: str, value: Any) -> None:
        if name != "name":
            armature.graph_break()
        object.__setattr__(self, name, value if name == "name" else None)


def added(x: Any) -> Any:
    Breaks("a") + Heard("b")
    return x + 1


def compared(x: Any) -> Any:
    return x + (Breaks("a") < Heard("b"))


def searched(x: Any) -> Any:
    return Heard("a") in Breaks("b"), x + 1


def subscribed(x: Any) -> Any:
    return x + Breaks("a")[Heard("b")]


def assigned(x: Any) -> Any:
    Breaks("a")[Heard("b")] = Heard("c")
    return x + 1


def deleted(x: Any) -> Any:
    del Breaks("a")[Heard("b")]
    return x + 1


def multiplied(x: Any) -> Any:
    Breaks("a") @ Heard("b")
    return x + 1


def set_as_an_attribute(x: Any) -> Any:
    Breaks("a").other = Heard("b")
    return x + 1


@pytest.mark.parametrize(
    "function",
    [added, compared, searched, subscribed, assigned, deleted, multiplied, set_as_an_attribute],
)
def test_operands_end_in_order(function: Callable[[Any], Any]) -> None:
    def ends(call: Callable[[Any], Any]) -> list[str]:
        LOG.clear()
        call(torch.ones(1))
        return list(LOG)

    compiled = armature.compile(function)
    assert [ends(compiled) for _ in range(3)] == [ends(function)] * 3
