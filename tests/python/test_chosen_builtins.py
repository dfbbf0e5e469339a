"""A function has chosen its builtins when it was made; what it makes chooses by the globals."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import Any

import armature
import pytest

Change = Callable[[dict[str, Any]], Any]


def drop(names: dict[str, Any]) -> None:
    del names["__builtins__"]


def has_own_len(names: dict[str, Any]) -> None:
    names["len"] = lambda _: 1


def replace(value: Any) -> Change:
    return lambda names: names.__setitem__("__builtins__", value)


MAKES_A_LAMBDA = """
def f(x):
    h = lambda: len([])
    return x + h()
"""
MAKES_A_FUNCTION = """
def f(x):
    def h():
        return len([]), len([1])
    return x, h()
"""
READS_TWO = """
def f(x):
    n = len([x])
    return range(n)
"""
RETURNS_ONE = """
def f(x):
    return (lambda: len([]))
"""
IN_A_GENERATOR = """
def f(x):
    def g():
        yield len([])
        yield len([1, 2])
    return x, list(g())
"""
FIVE, SEVEN = {"len": lambda _: 5}, {"len": lambda _: 7, "list": list}
PROGRAMS = [MAKES_A_LAMBDA, MAKES_A_FUNCTION, READS_TWO, RETURNS_ONE, IN_A_GENERATOR]
WORLDS: dict[str, tuple[Any, list[Change]]] = {
    "another": (FIVE, [replace(SEVEN), replace(builtins), drop]),
    "the usual": (builtins, [replace(SEVEN), has_own_len, replace(builtins)]),
    "as a dict": (builtins.__dict__, [replace(FIVE), replace(builtins.__dict__)]),
    "none": ({}, [has_own_len, replace(builtins), drop]),
    "dropped": ({}, [drop, has_own_len]),
    "no dict": ({}, [replace(None), has_own_len, replace(3)]),
}


def observed(call: Callable[..., Any]) -> Any:
    try:
        result = call(1)
        return repr(result() if callable(result) else result)
    except Exception as error:
        return type(error), str(error)


@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("program", range(len(PROGRAMS)))
def test_between_calls(program: int, world: str) -> None:
    first, changes = WORLDS[world]
    outcomes = []
    for capture in (lambda function: function, armature.compile):
        names: dict[str, Any] = {"__builtins__": first}
        exec(PROGRAMS[program], names)
        function = capture(names["f"])
        seen = [observed(function), observed(function)]
        for change in changes:
            change(names)
            seen += [observed(function), observed(function)]
        outcomes.append(seen)
    assert outcomes[0] == outcomes[1]


def test_behind_a_break() -> None:
    source = """
def f(change):
    a = len([])
    change()
    b = len([])
    return a, b, (lambda: len([]))()
"""
    outcomes = []
    for capture in (lambda function: function, armature.compile):
        names: dict[str, Any] = {"__builtins__": FIVE}
        exec(source, names)
        function = capture(names["f"])

        def change(names: dict[str, Any] = names) -> None:
            armature.graph_break()
            names["__builtins__"] = SEVEN

        seen = []
        for _ in range(3):
            names["__builtins__"] = FIVE
            seen.append(function(change))
        outcomes.append(seen)
    assert outcomes[0] == outcomes[1]
