"""Functions that are captured whole or not at all: what copy, threading and weakref hold amid their
work is new in each call, and some things cannot be rebuilt amid a function."""

from __future__ import annotations

import copy
import logging
import threading
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import armature
import pytest
import torch
from armature import _C
from differential import break_reasons, breaking_every, check

X = torch.arange(3.0)
Function = Callable[..., Any]
FUNCTIONS: list[Function] = []


def example(function: Function) -> Function:
    FUNCTIONS.append(function)
    return function


class Plain:
    pass


class Copied:
    """Whose copy is made by code that breaks."""

    def __init__(self, log: list[Any]) -> None:
        self.log = log

    def __deepcopy__(self, memo: dict[int, Any]) -> Copied:
        self.log.append("copied")
        armature.graph_break()
        return Copied(self.log)


@example
def copies_arrays(x: torch.Tensor, log: list[Any]) -> Any:
    kept = [x, 1]
    copied = copy.deepcopy({"a": kept, "b": kept})
    log.append(copied["a"] is copied["b"])
    return copied["a"][0] + 1, copied["a"][0] is x


@example
def copies_a_module(x: torch.Tensor, log: list[Any]) -> Any:
    linear = torch.nn.Linear(3, 2)
    copied = copy.deepcopy(linear)
    log.append(copied.weight is linear.weight)
    armature.graph_break()
    return torch.equal(copied(x), linear(x))


@example
def copies_what_breaks(x: torch.Tensor, log: list[Any]) -> Any:
    copied = copy.deepcopy([Copied(log), (Copied(log), x)])
    return type(copied[1][0]).__name__, copied[1][1] + 1


@example
def runs_a_thread(x: torch.Tensor, log: list[Any]) -> Any:
    thread = threading.Thread(target=lambda: log.append(x.sum().item()))
    thread.start()
    thread.join()
    return x + len(log)


@example
def waits_for_an_event(x: torch.Tensor, log: list[Any]) -> Any:
    event = threading.Event()
    log.append(event.is_set())
    event.set()
    log.append(event.wait(1))
    return x + 1


@example
def hears_of_an_end(x: torch.Tensor, log: list[Any]) -> Any:
    plain = Plain()
    weakref.finalize(plain, log.append, "ended")
    log.append("before")
    del plain
    log.append("after")
    return x + 1


@example
def keeps_weakly(x: torch.Tensor, log: list[Any]) -> Any:
    kept: Any = weakref.WeakValueDictionary()
    plain = Plain()
    kept["a"] = plain
    armature.graph_break()
    log.append(len(kept))
    del plain
    log.append(len(kept))
    return x + 1


@pytest.fixture
def failures(caplog: pytest.LogCaptureFixture) -> Iterator[list[str]]:
    found: list[str] = []
    with armature.config.patch(strict=False), caplog.at_level(logging.WARNING, "armature"):
        yield found
    records = caplog.get_records("call")
    assert not [r for r in records if "limit" in r.getMessage() or "failed" in r.getMessage()]


@pytest.mark.usefixtures("failures")
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_translated_once_and_as_in_python(function: Function) -> None:
    expected_log: list[Any] = []
    expected = repr(function(X, expected_log))
    compiled = armature.compile(function)
    for _ in range(12):
        log: list[Any] = []
        assert repr(compiled(X, log)) == expected
        assert log == expected_log


def test_the_reason_is_the_break_within() -> None:
    def f(x: torch.Tensor, log: list[Any]) -> Any:
        return copy.deepcopy([Copied(log)]), x + 1

    compiled = armature.compile(f)
    compiled(X, [])
    (reason,) = [r for r in break_reasons(compiled) if "deepcopy" in r["explanation"]]
    assert reason["gb_type"] == "Call of graph_break()"
    assert "Python runs the whole call of deepcopy" in reason["explanation"]
    assert "__deepcopy__" in reason["stack"][-1]


def test_what_cannot_be_rebuilt_within_a_call() -> None:
    def inner(log: list[Any]) -> int:
        made = {1: 2, 3: 4}
        iterator = iter(made)
        del made[1]
        made[5] = 6
        armature.graph_break()
        log.append("inner")
        return len(list(iterator))

    def middle(log: list[Any]) -> int:
        return inner(log) + 1

    def f(x: torch.Tensor, log: list[Any]) -> torch.Tensor:
        x = x * 2
        log.append("before")
        x = x + middle(log)
        log.append("after")
        return x

    expected_log: list[Any] = []
    expected = f(X, expected_log).tolist()
    with armature.config.patch(strict=False):
        compiled = armature.compile(f)
        for _ in range(3):
            log: list[Any] = []
            assert compiled(X, log).tolist() == expected
            assert log == expected_log
    # Only `inner` is Python's.
    explanation = armature.explain(f)(X, [])
    assert explanation.op_count == 2


def test_an_operation_that_fails_beside_a_skipped_function() -> None:
    def inner(log: list[Any]) -> None:
        log.append("inner")
        armature.skip_frame()

    def f(x: torch.Tensor, index: torch.Tensor, log: list[Any]) -> torch.Tensor:
        log.append("before")
        y = x[index]
        log.append("behind")
        inner(log)
        return y + 1

    def run(x: torch.Tensor, index: torch.Tensor) -> Any:
        log: list[Any] = []
        try:
            return f(x, index, log).tolist(), log
        except IndexError as error:
            return str(error), log

    compiled = armature.compile(f)

    def run_compiled(x: torch.Tensor, index: torch.Tensor) -> Any:
        log: list[Any] = []
        try:
            return compiled(x, index, log).tolist(), log
        except IndexError as error:
            return str(error), log

    for index in ([0, 1], [2, 0], [7, 0], [1, 1], [0, -9]):
        at = torch.tensor(index)
        assert run_compiled(X, at) == run(X, at)


@pytest.mark.parametrize("every", [1, 2, 3])
def test_a_generator_that_existed_breaks(every: int) -> None:
    kept = [Plain() for _ in range(4)]
    numbers = weakref.WeakKeyDictionary(zip(kept, range(4), strict=True))

    def f(items: Iterator[Any], x: torch.Tensor) -> Any:
        return [number for _, number in items], x + 1

    compiled = armature.compile(f)
    for _ in range(3):
        items = numbers.items()
        assert next(items)[1] == 0
        with breaking_every(every):
            found, y = compiled(items, X)
        assert found == [1, 2, 3] and torch.equal(y, X + 1)


def test_compiled_itself() -> None:
    check(copy.deepcopy, [1, [X, X]], breaks=None)


def test_only_modules() -> None:
    with pytest.raises(TypeError, match="expected modules, not 'int'"):
        _C.capture_whole([3])
