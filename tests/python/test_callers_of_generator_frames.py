"""A generator's frame that does not run has no caller, and so keeps nobody alive.

A traceback may hold it for long; in a caller are, say, the exception itself, and objects of the
program whose ends can be seen.
"""

from __future__ import annotations

import contextlib
import gc
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import armature
import pytest
from differential import breaking_every

MADE: list[weakref.ref[Any]] = []
KEPT: list[BaseException] = []


class Thing:
    pass


def make() -> Thing:
    thing = Thing()
    MADE.append(weakref.ref(thing))
    return thing


@contextlib.contextmanager
def handling() -> Iterator[None]:
    try:
        yield
    except ValueError:
        armature.graph_break()


@contextlib.contextmanager
def breaking_behind() -> Iterator[None]:
    try:
        yield
    except ValueError:
        pass
    armature.graph_break()


@contextlib.contextmanager
def passing_on() -> Iterator[None]:
    held = make()  # noqa: F841
    try:
        yield
    finally:
        armature.graph_break()


@contextlib.contextmanager
def raising_another() -> Iterator[None]:
    try:
        yield
    except ValueError as error:
        armature.graph_break()
        raise KeyError(1) from error


@contextlib.contextmanager
def keeping() -> Iterator[None]:
    held = make()  # noqa: F841
    try:
        yield
    except ValueError as error:
        armature.graph_break()
        KEPT.append(error)


class Own:
    def __enter__(self) -> None:
        def steps() -> Iterator[None]:
            held = make()  # noqa: F841
            try:
                yield
            except ValueError:
                armature.graph_break()

        self.steps = steps()
        next(self.steps)

    def __exit__(self, kind: Any, value: Any, traceback: Any) -> bool:
        try:
            self.steps.throw(value)  # type: ignore[attr-defined]
        except StopIteration:
            return True
        return False


def within(manager: Callable[[], Any]) -> Callable[[], None]:
    def program() -> None:
        held = make()  # noqa: F841
        with manager():
            raise ValueError

    return program


def within_try(manager: Callable[[], Any]) -> Callable[[], None]:
    def program() -> None:
        held = make()  # noqa: F841
        try:
            with manager():
                raise ValueError
        except (ValueError, KeyError):
            pass

    return program


def steps(n: int) -> Iterator[int]:
    held = make()  # noqa: F841
    try:
        yield 1
    except ValueError:
        armature.graph_break()
    yield 2
    armature.graph_break()


def delegating(n: int) -> Iterator[int]:
    held = make()  # noqa: F841
    yield from steps(n)


def driven(maker: Callable[[int], Any], thrown: type[Exception]) -> Callable[[], None]:
    def program() -> None:
        held = make()  # noqa: F841
        generator = maker(1)
        next(generator)
        try:
            generator.throw(thrown)
        except KeyError:
            armature.graph_break()
        list(generator)

    return program


def stacked() -> None:
    held = make()  # noqa: F841
    with contextlib.ExitStack() as stack:
        stack.enter_context(handling())
        stack.enter_context(passing_on())
        raise ValueError


MANAGERS = [handling, breaking_behind, passing_on, raising_another, keeping, Own]
PROGRAMS = [
    *[within(manager) for manager in MANAGERS],
    *[within_try(manager) for manager in MANAGERS],
    *[driven(maker, kind) for maker in (steps, delegating) for kind in (ValueError, KeyError)],
    stacked,
]


def ends(call: Callable[[], None]) -> list[Any]:
    """What the program raises, which of its objects live behind it, and then without KEPT."""
    MADE.clear()
    KEPT.clear()
    raised = None
    try:
        call()
    except Exception as error:
        raised = type(error)
    alive = [made() is not None for made in MADE]
    KEPT.clear()
    return [raised, alive, [made() is not None for made in MADE]]


@pytest.mark.parametrize("every", [0, 1, 2, 3, 5])
@pytest.mark.parametrize("program", PROGRAMS)
def test_what_frames_of_generators_keep_alive(program, every):
    gc.collect()
    gc.disable()
    try:
        expected = ends(program)
        with breaking_every(every):
            compiled = armature.compile(program)
            for _ in range(3):
                assert ends(compiled) == expected
                gc.collect()
    finally:
        gc.enable()


def handling_inside() -> Iterator[int]:
    try:
        raise KeyError(2)
    except KeyError as error:
        yield len(error.args)
        raise


def handed_over(given: Iterator[Any]) -> None:
    list(handling_inside())


def asked(given: Iterator[Any]) -> None:
    assert 7 in handling_inside()


class Ended:
    def __del__(self) -> None:
        pass


def failing() -> Iterator[int]:
    held = Ended()
    MADE.append(weakref.ref(held))
    yield 0
    raise KeyError(2)


def left_in_a_handler() -> Iterator[int | None]:
    try:
        for _ in failing():
            pass
    finally:
        yield 1
        yield None


def advanced(given: Iterator[Any]) -> None:
    next(given)


def advanced_twice(given: Iterator[Any]) -> None:
    next(given)
    next(given)
    raise TypeError


def summed(given: Iterator[Any]) -> None:
    sum(given)


@pytest.mark.parametrize("every", [0, 1, 2, 3])
@pytest.mark.parametrize("program", [handed_over, asked, advanced, advanced_twice, summed])
def test_what_a_suspended_generator_keeps_alive(program, every):
    def call() -> list[Any]:
        def run() -> None:
            given = left_in_a_handler()
            MADE.append(weakref.ref(given))
            function(given)

        return ends(run)

    gc.collect()
    gc.disable()
    try:
        function: Callable[[Iterator[Any]], None] = program
        expected = call()
        with breaking_every(every):
            function = armature.compile(program)
            for _ in range(3):
                assert call() == expected
                gc.collect()
    finally:
        gc.enable()
