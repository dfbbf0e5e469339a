"""The objects that a function lets go of as it returns end in the order of CPython's frames."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import armature
import pytest
import torch

LOG: list[Any] = []


class Heard:
    def __init__(self, name: Any) -> None:
        self.name = name

    def __del__(self) -> None:
        LOG.append(self.name)


class Box:
    pass


# The names of variables that are written and not read are what these are about.
# ruff: noqa: F841


def second_name(x: Any) -> Any:
    a = Heard("a")
    b = Heard("b")
    c = a
    return x + 1


def exchanged(x: Any) -> Any:
    a, b, c = Heard("a"), Heard("b"), Heard("c")
    a, b, c = c, a, b
    return x + 1


def in_a_tuple(x: Any) -> Any:
    a = [Heard(1), Heard(2)]
    b = Heard(3)
    c = a
    d = (a, b)
    return x * 2


def in_a_list(x: Any) -> Any:
    a, b, c = Heard("a"), Heard("b"), Heard("c")
    d = [a, b]
    return x * 2


def in_a_dict(x: Any) -> Any:
    a, b, c = Heard("a"), Heard("b"), Heard("c")
    d = {1: b, 2: a}
    return x * 2


def in_an_instance(x: Any) -> Any:
    a, b = Heard("a"), Heard("b")
    box = Box()
    box.value = a
    return x * 2


def in_containers_of_containers(x: Any) -> Any:
    a, b, c = Heard("a"), Heard("b"), Heard("c")
    inner = [b]
    outer = {"x": (inner, a), "y": inner}
    inner = None
    return x * 2


def in_a_closure(x: Any) -> Any:
    a, b = Heard("a"), Heard("b")

    def use() -> Any:
        return b

    c = a
    return x + 1


def behind_a_break(x: Any) -> Any:
    a, b = Heard("a"), Heard("b")
    c = a
    print(end="")
    d = b
    e = c
    return x + 1


def in_a_function_that_is_called(x: Any) -> Any:
    y = second_name(x)
    LOG.append("called")
    return y


def some_are_returned(x: Any) -> Any:
    a, b, c = Heard("a"), Heard("b"), Heard("c")
    d = a
    return [b, x + 1]


def some_are_kept(x: Any) -> Any:
    a, b, c = Heard("a"), Heard("b"), Heard("c")
    KEPT.append(b)
    d = (a, b)
    return x + 1


def in_a_loop(x: Any) -> Any:
    last = None
    for i in range(3):
        before, last = last, Heard(i)
    y = Heard("y")
    first = last
    return x + 1


KEPT: list[Any] = []

FUNCTIONS = [
    second_name,
    exchanged,
    in_a_tuple,
    in_a_list,
    in_a_dict,
    in_an_instance,
    in_containers_of_containers,
    in_a_closure,
    behind_a_break,
    in_a_function_that_is_called,
    some_are_returned,
    some_are_kept,
    in_a_loop,
]


def ends(function: Callable[..., Any]) -> list[Any]:
    LOG.clear()
    result = function(torch.ones(2))
    LOG.append("returned")
    del result
    KEPT.clear()
    return list(LOG)


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_ends_come_in_the_order_of_the_locals(function: Callable[..., Any]) -> None:
    expected = ends(function)
    compiled = armature.compile(function)
    assert [ends(compiled) for _ in range(3)] == [expected] * 3


def test_the_same_translation_with_other_aliases() -> None:
    """Which inputs are one object is nothing that the order of the ends may take for granted."""

    def function(x: Any, same: bool) -> Any:
        a = Heard("a")
        b = Heard("b")
        c = a if same else Heard("c")
        print(end="")
        d = b
        e = a
        return x + 1

    def of(f: Callable[..., Any], same: bool) -> list[Any]:
        LOG.clear()
        f(torch.ones(2), same)
        return list(LOG)

    for order in [(True, False, True), (False, True, False)]:
        compiled = armature.compile(function)
        for same in order:
            assert of(compiled, same) == of(function, same)
