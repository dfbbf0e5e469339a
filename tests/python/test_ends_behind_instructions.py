"""Generators that end when the instruction is done that has run them, or when an exception leaves
the frame whose loop they are in."""

# What a linter would not write is what is tested.
# ruff: noqa: F841

from __future__ import annotations

import contextlib
import functools
import itertools
import sys
from collections.abc import Callable, Iterator
from typing import Any

import armature
import pytest
import torch
from differential import breaking_every

WHOLE: list[Callable[..., Any]] = []
OTHERS: list[Callable[..., Any]] = []


def whole(function: Callable[..., Any]) -> Callable[..., Any]:
    WHOLE.append(function)
    return function


def other(function: Callable[..., Any]) -> Callable[..., Any]:
    OTHERS.append(function)
    return function


def items(log: list[Any], name: Any = "g", n: int = 3) -> Iterator[int]:
    try:
        for i in range(n):
            log.append((name, i))
            yield i
    finally:
        log.append(("closed", name, sys.exc_info()[0]))


def prints(n: int = 3) -> Iterator[int]:
    try:
        yield from range(n)
    finally:
        print("closed")


class Noted:
    def __init__(self, log: list[Any]) -> None:
        self.log = log

    def __enter__(self) -> None:
        self.log.append("in")

    def __exit__(self, kind: Any, value: Any, traceback: Any) -> None:
        self.log.append(("out", kind))


def holds(log: list[Any]) -> Iterator[int]:
    with Noted(log):
        yield 1
        yield 2


@whole
def zip_that_another_ends(x: Any, log: list[Any]) -> Any:
    for i, _ in zip(items(log), range(2)):
        x = x + i
    log.append("after")
    return x


@whole
def zip_of_two(x: Any, log: list[Any]) -> Any:
    for i, _ in zip(items(log, "a"), items(log, "b", 2)):
        x = x + i
    log.append("after")
    return x


@whole
def first_of_new(x: Any, log: list[Any]) -> Any:
    found = next(iter(items(log)))
    log.append("after")
    return x + found


@whole
def any_of_them(x: Any, log: list[Any]) -> Any:
    found = any(i > 0 for i in items(log))
    log.append("after")
    return x, found


@whole
def any_of_map(x: Any, log: list[Any]) -> Any:
    found = any(map(lambda i: log.append("f") or i, items(log)))
    log.append("after")
    return x, found


@whole
def contained(x: Any, log: list[Any]) -> Any:
    found = 1 in items(log)
    log.append("after")
    return x, found


@whole
def too_many_to_unpack(x: Any, log: list[Any]) -> Any:
    try:
        a, b = items(log)
    except ValueError as error:
        log.append((str(error), error.__context__))
    return x


@whole
def left_by_an_exception(x: Any, log: list[Any]) -> Any:
    def call() -> None:
        for i in items(log):
            if i == 1:
                raise KeyError(i)

    try:
        call()
    except KeyError as error:
        log.append((repr(error), error.__context__))
    log.append("after")
    return x + 1


@whole
def left_through_with(x: Any, log: list[Any]) -> Any:
    def call() -> None:
        with Noted(log):
            for i in holds(log):
                raise KeyError(i)

    with contextlib.suppress(KeyError):
        call()
    return x + 1


@other
def two_frames_left_at_once(x: Any, log: list[Any]) -> Any:
    def inner() -> None:
        for i in items(log, "inner"):
            raise KeyError(i)

    def outer() -> None:
        for _ in items(log, "outer"):
            inner()

    try:
        outer()
    except KeyError:
        log.append("caught")
    return x + 1


@other
def kept_by_a_traceback(x: Any, log: list[Any]) -> Any:
    def call() -> None:
        kept = items(log)
        next(kept)
        raise KeyError

    try:
        call()
    except KeyError as error:
        log.append("caught")
        kept = error
    log.append("kept")
    kept = None
    log.append("after")
    return x + 1


@other
def dropped_before_another_runs(x: Any, log: list[Any]) -> Any:
    found = list(itertools.chain(itertools.islice(items(log, "a"), 2), items(log, "b")))
    log.append("after")
    return x, found


@other
def dropped_within_a_call_of_c(x: Any, log: list[Any]) -> Any:
    held = [items(log)]

    def key(i: int) -> int:
        if i == 1:
            next(held[0])
            held.clear()
        log.append(("key", i))
        return -i

    found = sorted(range(3), key=key)
    log.append("after")
    return x, found


@other
def reduce_over_them(x: Any, log: list[Any]) -> Any:
    def add(total: int, i: int) -> int:
        if i == 1:
            raise KeyError
        return total + i

    try:
        functools.reduce(add, items(log), 0)
    except KeyError as error:
        log.append(error.__context__)
    return x + 1


@other
def prints_at_the_end(x: Any, log: list[Any]) -> Any:
    for i, _ in zip(prints(), range(2)):
        x = x + i
    print("after")
    found = any(prints())
    print("found", found)
    return x


@other
def prints_when_left(x: Any, log: list[Any]) -> Any:
    def call() -> None:
        for i in prints():
            raise KeyError(i)

    try:
        call()
    except KeyError:
        print("caught")
    return x + 1


def raising(log: list[Any]) -> Iterator[int]:
    try:
        yield 1
        yield 2
    finally:
        raise OSError("at the end")


@other
def raises_at_its_end(x: Any, log: list[Any]) -> Any:
    for i, _ in zip(raising(log), range(1)):
        x = x + i
    log.append("after")
    return x


@other
def operand_that_a_local_holds_too(x: Any, log: list[Any]) -> Any:
    held = items(log)
    log.append(next(held, armature.graph_break()))
    log.append(held.send(2))
    return x + 1


@other
def operand_that_a_local_leads_to_too(x: Any, log: list[Any]) -> Any:
    held = [items(log)]
    log.append(next(held[0], armature.graph_break()))
    log.append(held[0].send(2))
    return x + 1


@whole
def many_turns(x: Any, log: list[Any]) -> Any:
    for turn in range(50):
        found = any(i > 0 for i in items(log, turn))
        for _ in zip(items(log, "z"), range(1)):
            log.append(found)
    return x + 1


def observed(
    function: Callable[..., Any], capsys: pytest.CaptureFixture[str], patch: pytest.MonkeyPatch
) -> Any:
    unraisable: list[str] = []
    patch.setattr(sys, "unraisablehook", lambda hook: unraisable.append(repr(hook.exc_value)))
    log: list[Any] = []
    result = function(torch.arange(3.0), log)
    return repr(result), log, unraisable, capsys.readouterr().out


@pytest.mark.parametrize("every", [0, 1, 2, 3, 5])
@pytest.mark.parametrize("function", WHOLE + OTHERS, ids=lambda function: function.__name__)
def test_as_in_python(
    function: Callable[..., Any],
    every: int,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    expected = observed(function, capsys, monkeypatch)
    compiled = armature.compile(function)
    for _ in range(3):
        with breaking_every(every):
            found = observed(compiled, capsys, monkeypatch)
        assert found == expected


@pytest.mark.parametrize("function", WHOLE, ids=lambda function: function.__name__)
def test_captured_whole(function: Callable[..., Any]) -> None:
    explanation = armature.explain(function)(torch.arange(3.0), [])
    assert explanation.graph_break_count == 0
