"""What a generator's frame holds from before the trace dies where the frame lets go of it."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import armature
import pytest
import torch
from differential import compare, observe

LOG: list[Any] = []


class Heard:
    def __init__(self, name: str = "end") -> None:
        self.name = name

    def __del__(self) -> None:
        LOG.append(self.name)


@armature.disable
def make() -> Heard:
    return Heard()


@armature.disable
def make_watched() -> Any:
    made = type("Watched", (), {})()
    weakref.finalize(made, LOG.append, "end")
    return made


MAKERS = (make, make_watched)


def one_yield(maker: Callable[[], Any]) -> Iterator[int]:
    _held = maker()
    yield 1
    LOG.append("behind")


def in_a_list(maker: Callable[[], Any]) -> Iterator[int]:
    _held = [maker(), maker()]
    yield 1
    LOG.append("behind")


def in_a_cell(maker: Callable[[], Any]) -> Iterator[int]:
    _held = maker()
    _keep = lambda: _held  # noqa: E731
    yield 1
    LOG.append("behind")


def rebound(maker: Callable[[], Any]) -> Iterator[int]:
    _held = maker()
    yield 1
    _held = None
    LOG.append("behind")
    yield 2
    LOG.append("last")


def broken(maker: Callable[[], Any]) -> Iterator[int]:
    _held = maker()
    yield 1
    armature.graph_break()
    yield 2
    LOG.append("behind")


def cleaned(maker: Callable[[], Any]) -> Iterator[int]:
    _held = maker()
    try:
        yield 1
    finally:
        LOG.append("finally")


def raising(maker: Callable[[], Any]) -> Iterator[int]:
    _held = maker()
    yield 1
    LOG.append("behind")
    raise KeyError("raised")


def delegating(maker: Callable[[], Any]) -> Iterator[int]:
    _held = maker()
    yield from one_yield(maker)
    LOG.append("outer")


GENERATORS = (
    one_yield,
    in_a_list,
    in_a_cell,
    rebound,
    broken,
    cleaned,
    raising,
    delegating,
)


def drive_next(generator: Any) -> None:
    next(generator, 0)


def drive_for(generator: Any) -> None:
    for _ in generator:
        LOG.append("turn")


def drive_list(generator: Any) -> None:
    LOG.append(len([*generator]))


def drive_comprehension(generator: Any) -> None:
    LOG.append([each is None for each in generator])


def drive_close(generator: Any) -> None:
    generator.close()


def drive_throw(generator: Any) -> None:
    try:
        generator.throw(ValueError("thrown"))
    except (ValueError, StopIteration) as error:
        LOG.append(type(error).__name__)


def drive_expression(generator: Any) -> None:
    LOG.append(sum(each for each in generator))


DRIVERS = (
    drive_next,
    drive_for,
    drive_list,
    drive_comprehension,
    drive_close,
    drive_throw,
    drive_expression,
)


@pytest.mark.parametrize("breaks", [False, True], ids=["", "broken"])
@pytest.mark.parametrize("drive", DRIVERS, ids=lambda each: each.__name__)
@pytest.mark.parametrize("generator", GENERATORS, ids=lambda each: each.__name__)
def test_ends_are_in_order(generator: Any, drive: Any, breaks: bool) -> None:
    def entry(maker: Any, x: torch.Tensor) -> Any:
        made = generator(maker)
        next(made)
        LOG.append("before")
        if breaks:
            armature.graph_break()
        try:
            drive(made)
        except KeyError:
            LOG.append("caught")
        LOG.append("after")
        return list(LOG), x + len(LOG)

    for maker in MAKERS:
        captured = armature.compile(entry)
        for _ in range(3):
            LOG.clear()
            expected, log = observe(entry, (maker, torch.ones(2)), {}, None), list(LOG)
            LOG.clear()
            compare(expected, observe(captured, (maker, torch.ones(2)), {}, None))
            assert list(LOG) == log


def test_silent_frames_stay_in_the_trace() -> None:
    """Of a frame that holds nothing of which anybody hears, no trace breaks."""

    def values(x: torch.Tensor) -> Iterator[torch.Tensor]:
        scale = [2.0]
        for i in range(3):
            yield x * scale[0] + i

    def entry(x: torch.Tensor) -> torch.Tensor:
        made = values(x)
        total = next(made)
        armature.graph_break()
        for each in made:
            total = total + each
        return total

    captured = armature.compile(entry)
    x = torch.ones(2)
    assert torch.equal(captured(x), entry(x))
    report = armature.explain(entry)(x)
    assert report.graph_break_count == 1


def raised_inside() -> Iterator[int]:
    try:
        yield 1
        raise ValueError
    except ValueError as error:
        armature.graph_break()
        yield len(str(error))
    finally:
        LOG.append("finally")


def thrown_inside() -> Iterator[int]:
    try:
        yield 1
    except ValueError as error:
        armature.graph_break()
        yield len(str(error))
        armature.graph_break()
        yield len(str(error)) + 1
    finally:
        LOG.append("finally")


@pytest.mark.parametrize("generator", [raised_inside, thrown_inside])
@pytest.mark.parametrize("count", [1, 2])
def test_suspended_in_a_handler(generator: Any, count: int) -> None:
    """What a traceback shows of a generator that is left at a yield has no caller."""

    def entry(x: torch.Tensor) -> torch.Tensor:
        made = generator()
        next(made)
        armature.graph_break()
        LOG.append(next(made) if generator is raised_inside else made.throw(ValueError("text")))
        if count == 2:
            LOG.append(next(made, None))
        return x + 1

    captured = armature.compile(entry)
    LOG.clear()
    entry(torch.ones(2))
    expected = list(LOG)
    gc.collect()
    gc.disable()
    try:
        for _ in range(3):
            LOG.clear()
            captured(torch.ones(2))
            assert expected == LOG
    finally:
        gc.enable()
