"""The tracebacks of exceptions that a trace raised and caught."""

# What a linter would not write is what is tested.
# ruff: noqa: F401, E741, F841

from __future__ import annotations

import contextlib
import copy
import pickle
import sys
import traceback
import weakref
from typing import Any

import pytest
from exception_programs import Programs

programs = Programs()


class C2:
    def __enter__(self):
        return self

    def __exit__(self, t, v, tb):
        self.r = (t, repr(v), tb is None, tb is v.__traceback__)
        return True


class E6(KeyError):
    def __str__(self):
        return "E6"


class Rec:
    def __init__(self, l):
        self.l = l

    def __enter__(self):
        pass

    def __exit__(self, *a):
        self.l.append(a)


@programs
def traceback_look(x: Any) -> Any:
    try:
        raise ValueError("v")
    except ValueError as e:
        return (
            e.__traceback__ is not None,
            e.__traceback__.tb_lineno - e.__traceback__.tb_frame.f_code.co_firstlineno,
        )


@programs
def format_exception(x: Any) -> Any:
    try:
        raise ValueError("v")
    except ValueError as e:
        return traceback.format_exc().splitlines()[-1]


@programs
def exit_tb2(x: Any) -> Any:
    with C2() as c:
        raise ValueError(1)
    return c.r


def use_traceback_accumulates_escape(f: Any, x: Any) -> Any:
    return [(q.name, q.lineno) for q in traceback.extract_tb(f(x).__traceback__)]


@programs.used_by(use_traceback_accumulates_escape)
def traceback_accumulates_escape(x: Any) -> Any:
    e = ValueError("e")
    for k in range(3):
        try:
            raise e
        except ValueError:
            pass
    return e


def use_traceback_full(f: Any, x: Any) -> Any:
    return "".join(traceback.format_exception(f(x)))


@programs.used_by(use_traceback_full)
def traceback_full(x: Any) -> Any:
    def a(n):
        if n == 0:
            raise KeyError("bottom")
        try:
            return a(n - 1)
        finally:
            n += 0

    try:
        a(3)
    except KeyError as e:
        return e


def use_traceback_cause(f: Any, x: Any) -> Any:
    return "".join(traceback.format_exception(f(x)))


@programs.used_by(use_traceback_cause)
def traceback_cause(x: Any) -> Any:
    def a():
        raise KeyError("bottom")

    try:
        try:
            a()
        except KeyError as e:
            raise ValueError("v") from e
    except ValueError as e:
        return e


def use_with_traceback(f: Any, x: Any) -> Any:
    return "".join(traceback.format_exception(f(x)))


@programs.used_by(use_with_traceback)
def with_traceback(x: Any) -> Any:
    try:
        raise KeyError(1)
    except KeyError as e:
        tb = e.__traceback__
    try:
        raise ValueError(2).with_traceback(tb)
    except ValueError as e:
        return e


def use_clear_traceback(f: Any, x: Any) -> Any:
    r = f(x)
    return r[0], r[1].__traceback__


@programs.used_by(use_clear_traceback)
def clear_traceback(x: Any) -> Any:
    try:
        raise KeyError(1)
    except KeyError as e:
        e.__traceback__ = None
        return e.__traceback__, e


def use_reraise_traceback(f: Any, x: Any) -> Any:
    return "".join(traceback.format_exception(f(x)))


@programs.used_by(use_reraise_traceback)
def reraise_traceback(x: Any) -> Any:
    def a():
        raise KeyError("bottom")

    def b():
        try:
            a()
        except KeyError:
            raise

    def c():
        try:
            b()
        except KeyError as e:
            raise e

    try:
        c()
    except KeyError as e:
        return e


def use_exit_recorded(f: Any, x: Any) -> Any:
    l = f(x)
    return (
        l[0][0],
        repr(l[0][1]),
        [(q.name, q.lineno) for q in traceback.extract_tb(l[0][2])],
        l[1:],
    )


@programs.used_by(use_exit_recorded)
def exit_recorded(x: Any) -> Any:
    log = []
    class_ = Rec(log)
    try:
        with class_:
            raise ValueError("in with")
    except ValueError as e:
        log.append(e.__traceback__ is log[0][2])
    return log


def use_notes(f: Any, x: Any) -> Any:
    r = f(x)
    return r[:2], "".join(traceback.format_exception(r[2]))


@programs.used_by(use_notes)
def notes(x: Any) -> Any:
    e = ValueError(1)
    e.add_note("a")
    class_ = E6(1)
    try:
        raise e
    except ValueError as q:
        q.add_note("b")
    e.__notes__.append("c")
    f = ValueError(2)
    f.__notes__ = 3
    try:
        f.add_note("z")
    except TypeError as q:
        t = str(q)
    return e.__notes__, t, e


def use_locals_of_frames(f: Any, x: Any) -> Any:
    error = f(x)
    free = error.__traceback__.tb_next.tb_frame
    return free.f_code.co_name, free.f_code.co_freevars, free.f_locals is not None


@programs.used_by(use_locals_of_frames)
def frames_with_free_variables(x: Any) -> Any:
    def inner() -> None:
        raise ValueError(outer)

    def outer() -> None:
        inner()

    try:
        outer()
    except ValueError as error:
        error.args = ()
        return error


class Watched:
    pass


WATCHED: list[Any] = []


def use_locals_of_frames(f: Any, x: Any) -> Any:
    e = f(x)
    out = []
    tb = e.__traceback__.tb_next
    while tb:
        out.append(sorted((k, repr(v)) for k, v in tb.tb_frame.f_locals.items() if k != "a"))
        tb = tb.tb_next
    return out


@programs.used_by(use_locals_of_frames)
def locals_of_frames(x: Any) -> Any:
    def a(n, *args, k=3):
        y = [n]
        z = x + n
        if n == 0:
            raise KeyError("bottom")
        return a(n - 1, n, k=n)

    try:
        a(2)
    except KeyError as e:
        return e


def use_objects_in_frames_live_as_long(f: Any, x: Any) -> Any:
    e = f(x)
    r = WATCHED[-1]
    out = [r() is not None]
    e.__traceback__ = None
    out.append(r() is None)
    return out


@programs.used_by(use_objects_in_frames_live_as_long)
def objects_in_frames_live_as_long(x: Any) -> Any:
    def a():
        o = Watched()
        WATCHED.append(weakref.ref(o))
        raise KeyError(1)

    try:
        a()
    except KeyError as e:
        return e


def use_traceback_in_its_own_frame(f: Any, x: Any) -> Any:
    e = f(x)
    fr = e.__traceback__.tb_next.tb_frame
    return (
        fr.f_locals["tb"] is e.__cause__.__traceback__,
        fr.f_locals["err"] is e.__cause__,
        fr is e.__cause__.__traceback__.tb_frame,
        fr.f_lineno - fr.f_code.co_firstlineno,
    )


@programs.used_by(use_traceback_in_its_own_frame)
def traceback_in_its_own_frame(x: Any) -> Any:
    def a():
        try:
            raise ValueError(1)
        except ValueError as e:
            tb = e.__traceback__
            err = e
        raise KeyError(tb.tb_lineno) from err

    try:
        a()
    except KeyError as e:
        return e


def use_generator_in_a_frame(f: Any, x: Any) -> Any:
    e = f(x)
    return next(e.__traceback__.tb_next.tb_frame.f_locals["g"])


@programs.used_by(use_generator_in_a_frame)
def generator_in_a_frame(x: Any) -> Any:
    def a():
        g = (i for i in range(3))
        next(g)
        raise KeyError(1)

    try:
        a()
    except KeyError as e:
        return e


def use_frames_can_be_cleared(f: Any, x: Any) -> Any:
    e = f(x)
    traceback.clear_frames(e.__traceback__)
    return e.__traceback__.tb_next.tb_frame.f_locals


@programs.used_by(use_frames_can_be_cleared)
def frames_can_be_cleared(x: Any) -> Any:
    def a():
        q = [1]
        raise KeyError(1)

    try:
        a()
    except KeyError as e:
        return e


def use_cells_of_frames(f: Any, x: Any) -> Any:
    e = f(x)
    d = e.__traceback__.tb_next.tb_frame.f_locals
    return d["c"], d["b"](), sorted(d)


@programs.used_by(use_cells_of_frames)
def cells_of_frames(x: Any) -> Any:
    def a():
        c = 5

        def b():
            return c

        raise KeyError(b())

    try:
        a()
    except KeyError as e:
        return e


@pytest.mark.parametrize("name", list(programs))
def test_program(name: str) -> None:
    programs.compare(name)
