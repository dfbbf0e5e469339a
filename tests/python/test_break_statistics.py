"""How often each break was hit and what it cost, where explain() or a log asks; and that asking
changes nothing else."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from typing import Any

import armature
import pytest
import torch
from armature import _C
from differential import check

X = torch.ones(2)


@armature.disable
def wait(seconds: float) -> float:
    time.sleep(seconds)
    return seconds


@pytest.fixture
def measured() -> Iterator[None]:
    _C.set_measures_breaks(True)
    yield
    _C.set_measures_breaks(False)


def statistics(compiled: Any) -> list[_C.BreakStatistics]:
    found = [entry["break_statistics"] for entry in _C.entries(compiled)]
    return [entry for entry in found if entry is not None]


def test_a_loop() -> None:
    def f(x: torch.Tensor) -> torch.Tensor:
        for _ in range(7):
            x = x + 1
            wait(0.002)
        return x

    start = time.perf_counter()
    found = armature.explain(f)(X)
    took = time.perf_counter() - start
    assert sum(reason.hits for reason in found.break_reasons) == 7
    assert 0.014 <= sum(reason.seconds for reason in found.break_reasons) <= took
    assert "7 times" in str(found) or "1 time, " in str(found)


def test_each_break_has_its_own() -> None:
    def inner(x: torch.Tensor) -> torch.Tensor:
        wait(0.02)
        return x + 1

    def f(x: torch.Tensor) -> torch.Tensor:
        armature.graph_break()
        x = inner(x) * 2
        return inner(x) * 2

    lines = {
        reason.line: (reason.hits, reason.seconds >= 0.02, len(reason.stack))
        for reason in armature.explain(f)(X).break_reasons
    }
    first = f.__code__.co_firstlineno
    body = inner.__code__.co_firstlineno + 1
    assert lines[first + 1] == (1, False, 1)
    assert lines[body] == (1, True, 2)


def test_nobody_has_asked() -> None:
    def f(x: torch.Tensor) -> torch.Tensor:
        wait(0)
        return x + 1

    compiled = armature.compile(f)
    compiled(X)
    assert statistics(compiled) == []
    assert all("begin" not in entry["bytecode"] for entry in _C.entries(compiled))


@pytest.mark.usefixtures("measured")
def test_exceptions_end_the_time() -> None:
    @armature.disable
    def fail(times: float) -> None:
        time.sleep(0.002)
        raise ValueError(times)

    def caught(x: torch.Tensor) -> torch.Tensor:
        try:
            fail(1)
        except ValueError:
            x = x + 1
        return x

    def uncaught(x: torch.Tensor) -> torch.Tensor:
        x = x + 1
        fail(2)
        return x

    for function in (caught, uncaught):
        compiled = armature.compile(function)
        took = 0.0
        for _ in range(3):
            start = time.perf_counter()
            with contextlib.suppress(ValueError):
                compiled(X)
            took += time.perf_counter() - start
            time.sleep(0.2)
        (found, *_) = statistics(compiled)
        assert found.hits == 3 and 0.006 <= found.seconds <= took
        assert repr(found) == f"BreakStatistics(hits=3, seconds={found.seconds!r})"


@pytest.mark.usefixtures("measured")
def test_what_runs_as_it_is() -> None:
    def skipped(x: torch.Tensor) -> torch.Tensor:
        armature.skip_frame()
        return x + wait(0.002)

    def recursive(n: int) -> int:
        armature.skip_frame()
        time.sleep(0.002)
        return recursive(n - 1) + 1 if n else 0

    compiled = armature.compile(skipped)
    for _ in range(3):
        compiled(X)
    (found,) = statistics(compiled)
    assert found.hits == 3 and found.seconds >= 0.006

    compiled = armature.compile(recursive)
    start = time.perf_counter()
    assert compiled(5) == 5
    took = time.perf_counter() - start
    assert sum(entry.hits for entry in statistics(compiled)) == 6
    # Of frames that are inside of each other the time counts once.
    assert all(0.002 <= entry.seconds <= took for entry in statistics(compiled))


@pytest.mark.usefixtures("measured")
def test_a_region_that_goes_on_plainly() -> None:
    def numbers(x: torch.Tensor) -> Iterator[Any]:
        frame = sys._getframe()
        yield x + 1
        yield frame.f_code.co_name

    def f(x: torch.Tensor) -> Any:
        y = x * 2
        return y, list(numbers(y)), sys._getframe().f_code.co_name

    compiled = check(f, X, breaks=None)
    assert all(entry.hits for entry in statistics(compiled))


class Manager:
    def __init__(self, log: list[Any], swallows: bool) -> None:
        self.log, self.swallows = log, swallows

    def __enter__(self) -> Manager:
        armature.graph_break()
        self.log.append("enter")
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> bool:
        armature.graph_break()
        self.log.append(kind)
        return self.swallows


class Odd:
    def __init__(self, value: int) -> None:
        self.value = value

    def __bool__(self) -> bool:
        print("asked")
        return self.value % 2 == 1

    def __add__(self, other: Any) -> int:
        print("added")
        return self.value + other

    @property
    def half(self) -> int:
        print("halved")
        return self.value // 2

    def __getattr__(self, name: str) -> Callable[[], str]:
        print("missing", name)
        return lambda: name


def yields() -> Iterator[int]:
    print("first")
    yield 1
    print("second")
    yield 2


def programs(x: torch.Tensor, values: list[Any]) -> Any:
    log: list[Any] = []
    odd = Odd(values[0])
    if odd:
        log.append(odd + 1)
    while odd and len(log) < 3:
        log.append(odd.half)
    log.append(odd.other())
    generator = yields()
    for n in generator:
        log.append(n)
        x = x + n
    with Manager(log, True):
        print("inside")
        raise KeyError("swallowed")
    try:
        with Manager(log, False):
            print(1 // values[1])
    except ZeroDivisionError as error:
        print(type(error.__context__), sys.exc_info()[0])
        try:
            print([][1])
        except IndexError as inner:
            log.append(type(inner.__context__).__name__)
    finally:
        print("finally")
    log.append(sorted(values, key=lambda v: print(v) or -v))
    return x, log, [print(v) for v in values]


@pytest.mark.usefixtures("measured")
@pytest.mark.parametrize("values", [[3, 0, 1], [2, 1, 5], [5, 0]])
def test_measuring_changes_nothing(values: list[int]) -> None:
    compiled = check(programs, X, values, breaks=None)
    assert statistics(compiled) and all(entry.hits >= 1 for entry in statistics(compiled))


@pytest.mark.usefixtures("measured")
def test_tracebacks_are_plain() -> None:
    def inner(n: int) -> Any:
        print("in", n)
        return print(
            1 // n,
        )

    def f(x: torch.Tensor, n: int) -> Any:
        x = x + 1
        return inner(n), x

    def lines(function: Callable[..., Any]) -> list[tuple[str, int | None]]:
        try:
            function(X, 0)
        except ZeroDivisionError as error:
            return [(s.name, s.lineno) for s in traceback.extract_tb(error.__traceback__)][1:]
        raise AssertionError

    compiled = armature.compile(f)
    assert lines(compiled) == lines(compiled) == lines(f)


def test_the_log_at_the_end_of_a_program() -> None:
    program = """
import armature

def f(n):
    for i in range(n):
        armature.graph_break()
    return n

armature.compile(f)(5)
"""
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        env={**os.environ, "ARMATURE_LOGS": "graph_breaks"},
    )
    assert done.returncode == 0, done.stderr
    last = [line for line in done.stderr.splitlines() if "in Python" in line]
    assert last and all("Call of graph_break()" in line for line in last)
    hits = [int(line.split(": ")[-1].split(" time")[0]) for line in last]
    assert sum(hits) == 5
