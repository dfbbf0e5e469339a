# ruff: noqa: B011, B016, B018, B030, B904, F841, RUF040
"""A frame that tracebacks show keeps what its local variables hold in the end, and no more.

Each program handles or raises an exception, breaks the graph before or after, and leaves weak
references to what its frame holds; then the exception is dropped.
"""

from __future__ import annotations

import contextlib
import gc
import io
import sys
import traceback
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import armature
import pytest
from differential import breaking_every

WATCHED: list[weakref.ref[Any]] = []
KEPT: list[BaseException] = []
LOG: list[str] = []


class Thing:
    pass


class Manager:
    def __enter__(self) -> Manager:
        return self

    def __exit__(self, kind: Any, error: Any, traceback: Any) -> None:
        LOG.append("exit")


class NoExit:
    def __enter__(self) -> NoExit:
        return self

    def __exit__() -> None:  # type: ignore[misc]
        pass


THING = Thing()


def watch(thing: Any) -> Any:
    WATCHED.append(weakref.ref(thing))
    return thing


def in_the_block(x: Any) -> None:
    try:
        first = watch(Thing())
        raise 1  # type: ignore[misc]
    except 1:  # type: ignore[misc]
        pass


def in_the_handler(x: Any) -> None:
    try:
        (first,) = [1 for _ in []]
    except ValueError:
        first = watch(Thing())
        raise 1  # type: ignore[misc]


def around_with(x: Any) -> None:
    first = watch(Thing())
    with Manager():
        x()


def exit_that_cannot_be_called(x: Any) -> None:
    with NoExit():
        first = watch(Thing())
        assert False, 1


def in_a_cycle(x: Any) -> None:
    out = []
    try:
        raise 1  # type: ignore[misc]
    except TypeError as error:
        out.append(error)
    last = watch(Thing())


def kept_and_returned(x: Any) -> int:
    first = watch(Thing())
    try:
        raise KeyError(1)
    except KeyError as error:
        KEPT.append(error)
    second = watch(Thing())
    second = watch(Thing())
    return 1


def of_two_frames(x: Any) -> int:
    def inner() -> int:
        first = watch(Thing())
        try:
            x()
        except TypeError as error:
            KEPT.append(error)
        second = watch(Thing())
        return 2

    third = watch(Thing())
    inner()
    del third
    return 1


def of_each_turn(x: Any) -> None:
    for _ in range(5):
        thing = watch(Thing())
        try:
            x()
        except TypeError as error:
            KEPT.append(error)


def name_of_the_exception_is_gone(x: Any) -> int:
    class Error(Exception):
        pass

    try:
        raise Error
    except Error as error:
        watch(error)
    return 1


def generator(log: list[str]) -> Any:
    try:
        yield 1
    finally:
        log.append("closed")


def generator_in_the_frame(x: Any) -> None:
    made = generator(LOG)
    next(made)
    try:
        x.missing
    except 1:  # type: ignore[misc]
        pass


def of_two_handlers(turns: Any) -> None:
    try:
        turns(Thing())
    except TypeError as error:
        hash(error)
    try:
        int("a")
    except ValueError:
        pass
    thing = Thing()
    WATCHED.append(weakref.ref(thing))


PROGRAMS = [
    in_the_block,
    in_the_handler,
    around_with,
    exit_that_cannot_be_called,
    in_a_cycle,
    kept_and_returned,
    of_two_frames,
    of_each_turn,
    name_of_the_exception_is_gone,
    generator_in_the_frame,
    of_two_handlers,
]


def observe(function: Callable[[Any], Any]) -> list[Any]:
    for log in WATCHED, KEPT, LOG:
        log.clear()
    seen: list[Any] = []

    def look() -> None:
        seen.append(([reference() is None for reference in WATCHED], list(LOG)))

    gc.disable()
    try:
        try:
            seen.append(function(5))
        except Exception as error:
            seen.append((type(error), str(error)))
            look()
        look()
        KEPT.clear()
        look()
        gc.collect()
        look()
    finally:
        gc.enable()
    return seen


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_frames_keep_their_variables(program: Callable[[Any], Any]) -> None:
    compiled = armature.compile(program)
    for _ in range(3):
        assert observe(compiled) == observe(program)


@pytest.mark.parametrize("every", [*range(1, 16), 19, 23, 29])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_frames_that_breaks_continue_keep_their_variables(
    program: Callable[[Any], Any], every: int
) -> None:
    compiled = armature.compile(program)
    expected = observe(program)
    for _ in range(3):
        with breaking_every(every):
            seen = observe(compiled)
        assert seen == expected


def test_frames_of_a_long_loop_are_not_kept() -> None:
    def loop(turns: int) -> None:
        for _ in range(turns):
            try:
                KEPT[5]
            except IndexError as error:
                hash(error)
            hash(THING)

    KEPT.clear()
    compiled = armature.compile(loop)
    compiled(10)
    gc.collect()
    before = len(gc.get_objects())
    compiled(2000)
    assert len(gc.get_objects()) - before < 200


def test_a_name_error_suggests_names_of_locals_behind_a_break() -> None:
    def wrong() -> None:
        noise = other = None
        blch = None
        print(bluch)  # noqa: F821

    def program() -> Any:
        found = []
        for _ in range(2):
            try:
                wrong()
            except NameError:
                with contextlib.redirect_stderr(io.StringIO()) as printed:
                    sys.__excepthook__(*sys.exc_info())
                found.append(printed.getvalue().splitlines()[-1])
        return found

    expected = "NameError: name 'bluch' is not defined. Did you mean: 'blch'?"
    assert program() == armature.compile(program)() == [expected] * 2


def test_references_are_counted_as_python_has_them() -> None:
    def program() -> Any:
        thing = object()
        before = sys.getrefcount(thing)
        things = [thing for _ in range(3)]
        return before, sys.getrefcount(thing), len(things)

    compiled = armature.compile(program)
    assert [compiled() for _ in range(3)] == [program()] * 3


@armature.disable
def caller() -> tuple[str, str]:
    code = sys._getframe(1).f_code
    return code.co_name, code.co_qualname


class Nested:
    def method(self) -> Any:
        armature.graph_break()
        return caller(), [caller() for _ in range(2)]

    def inner(self) -> Any:
        def function() -> Any:
            armature.graph_break()
            return caller()

        return function()


def test_names_behind_a_break() -> None:
    for method in (Nested.method, Nested.inner):
        assert armature.compile(method)(Nested()) == method(Nested())


@armature.disable
def places(error: BaseException) -> list[Any]:
    return [
        (frame.name, frame.lineno, frame.colno, frame.end_colno)
        for frame in traceback.extract_tb(error.__traceback__)
    ]


def handling() -> Iterator[Any]:
    try:
        raise ValueError("handled")
    except ValueError as error:
        yield error
        raise


def handling_what_is_none() -> Iterator[Any]:
    armature.graph_break()
    try:
        raise
    except RuntimeError as error:
        yield error
        raise KeyError from error


def test_places_in_generators_that_handle_an_exception() -> None:
    def program(make: Any) -> Any:
        generator = make()
        found = [places(next(generator))]
        try:
            next(generator)
        except (ValueError, KeyError) as error:
            found += [places(error), places(error.__cause__ or error)]
        return found

    for make in (handling, handling_what_is_none):
        compiled = armature.compile(program)
        for _ in range(2):
            assert compiled(make) == program(make)
