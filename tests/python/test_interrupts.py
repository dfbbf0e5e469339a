"""What arrives from outside between the program's instructions is seen by its handlers."""

from __future__ import annotations

import random
import signal
import threading
import traceback
from collections.abc import Callable, Iterator
from typing import Any

import armature
import pytest
import torch

LOCK = threading.Lock()
LOG: list[Any] = []


class Interrupt(BaseException):
    pass


def interrupt(*_: Any) -> None:
    raise Interrupt


@pytest.fixture(autouse=True)
def handler() -> Iterator[None]:
    previous = signal.signal(signal.SIGALRM, interrupt)
    yield
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, previous)
    LOG.clear()


def signals(n: int) -> map[None]:
    """Raises a signal in C, where an instruction that is no call does not notice it."""
    return map(signal.raise_signal, [signal.SIGALRM] * n)


class Manager:
    def __enter__(self) -> None:
        LOG.append("enter")

    def __exit__(self, kind: Any, error: Any, trace: Any) -> bool:
        LOG.append(("exit", kind))
        return kind is Interrupt


def last_in_a_body(x: torch.Tensor, n: int) -> Any:
    with LOCK:
        x = x + 1
        1 in signals(n)  # noqa: B015
    return x * 2


def amid_a_body(x: torch.Tensor, n: int) -> Any:
    with LOCK:
        x = x + 1
        1 in signals(n)  # noqa: B015
        x = x * 3
    return x * 2


def suppressed(x: torch.Tensor, n: int) -> Any:
    y = x + 1
    with Manager():
        y = y + 1
        1 in signals(n)  # noqa: B015
    LOG.append(LOCK.locked())
    return x * 2, y


def finally_runs(x: torch.Tensor, n: int) -> Any:
    try:
        x = x + 1
        1 in signals(n)  # noqa: B015
    finally:
        LOG.append("finally")
    return x * 2


def caught(x: torch.Tensor, n: int) -> Any:
    kept = x - 1
    try:
        x = x + 1
        found = 1 in signals(n)
    except Interrupt as error:
        LOG.append(("caught", repr(error.__context__)))
        return kept, [frame.name for frame in traceback.extract_tb(error.__traceback__)]
    return x, found


def in_a_callee(x: torch.Tensor, n: int) -> Any:
    def inner(y: torch.Tensor) -> torch.Tensor:
        y = y * 2
        1 in signals(n)  # noqa: B015
        return y * 3

    with LOCK:
        x = inner(x)
        x = x + 1
    return x


def in_a_loop(x: torch.Tensor, n: int) -> Any:
    for i in range(3):
        with LOCK:
            x = x + i
            1 in signals(n if i == 1 else 0)  # noqa: B015
    return x


def in_a_handler(x: torch.Tensor, n: int) -> Any:
    try:
        raise ValueError(1)
    except ValueError:
        with LOCK:
            x = x + 1
            1 in signals(n)  # noqa: B015
        LOG.append("not here")
    return x


PROGRAMS = [
    last_in_a_body,
    amid_a_body,
    suppressed,
    finally_runs,
    caught,
    in_a_callee,
    in_a_loop,
    in_a_handler,
]


def outcome(function: Callable[..., Any], n: int) -> Any:
    LOG.clear()
    try:
        result = repr(function(torch.arange(3.0), n))
    except Interrupt as error:
        result = repr(error.__context__)
    assert not LOCK.locked()
    return result, list(LOG)


@pytest.mark.parametrize("function", PROGRAMS, ids=lambda function: function.__name__)
def test_a_signal_behind_the_instruction_that_python_runs(function: Callable[..., Any]) -> None:
    compiled = armature.compile(function)
    for n in (0, 1, 0, 1):
        assert outcome(compiled, n) == outcome(function, n)


def interrupted_graph(x: torch.Tensor, arrives: list[bool]) -> Any:
    kept = x - 1
    with LOCK:
        LOG.append("in")
        armature.graph_break()
        x = x + 1
        LOG.append("computed")
    try:
        armature.graph_break()
        x = x * 2
        LOG.append("computed")
    except Interrupt:
        return kept
    return x


@pytest.mark.parametrize("at", [1, 2, 3, 4])
def test_a_graph_that_is_interrupted(at: int) -> None:
    count = 0

    def backend(graph: Any, inputs: Any) -> Callable[..., Any]:
        def run(*args: Any) -> Any:
            nonlocal count
            count += 1
            if count == at:
                raise Interrupt
            return graph(*args)

        return run

    compiled = armature.compile(interrupted_graph, backend=backend)
    x = torch.arange(3.0)
    try:
        result = compiled(x, [])
    except Interrupt as error:
        frames = [frame.name for frame in traceback.extract_tb(error.__traceback__)]
        assert frames[1:] == ["interrupted_graph", "run"]
        result = None
    assert not LOCK.locked()
    expected = {1: None, 2: None, 3: x - 1, 4: (x + 1) * 2}[at]
    assert torch.equal(result, expected) if expected is not None else result is None
    assert LOG == [[], ["in"], ["in", "computed"], ["in", "computed", "computed"]][at - 1]


def busy(x: torch.Tensor) -> torch.Tensor:
    for i in range(20):
        with LOCK:
            x = x + i
            armature.graph_break()
            x = x * 1
            LOCK.locked()
        x = x - i
    return x


def test_signals_at_any_time() -> None:
    with armature.config.patch(recompile_limit=64):
        compiled = armature.compile(busy)
    x = torch.arange(3.0)
    compiled(x)
    choose = random.Random(1)
    arrived = 0
    for _ in range(400):
        try:
            signal.setitimer(signal.ITIMER_REAL, choose.uniform(1e-6, 400e-6))
            compiled(x)
            signal.setitimer(signal.ITIMER_REAL, 0)
        except Interrupt:
            arrived += 1
        assert not LOCK.locked()
    assert arrived
