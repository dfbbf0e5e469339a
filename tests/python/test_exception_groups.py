"""Groups of exceptions and `except*`: captured, and broken at every instruction."""

# What a linter would not write is what is tested.
# ruff: noqa: B904, F841

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

import armature
import pytest
import torch
from differential import breaking_every
from exception_programs import Programs

programs = Programs()


def facts(error: BaseException | None) -> Any:
    """All that is to be seen of a group, without what only identity tells."""
    if error is None:
        return None
    parts = error.exceptions if isinstance(error, BaseExceptionGroup) else ()
    return (
        type(error).__name__,
        error.args,
        getattr(error, "__notes__", None),
        error.__suppress_context__,
        type(error.__context__),
        type(error.__cause__),
        error.__traceback__ is None,
        [facts(part) for part in parts],
    )


class Coded(ExceptionGroup):
    def __new__(cls, message: str, errors: Sequence[Exception], code: int) -> Coded:
        self = super().__new__(Coded, message, errors)
        self.code = code
        return self

    def derive(self, errors: Sequence[Exception]) -> Coded:
        return Coded(self.message, errors, self.code + 1)


class Plain(ExceptionGroup):
    pass


class WithInit(BaseExceptionGroup):
    def __init__(self, message: str, errors: Sequence[BaseException]) -> None:
        super().__init__(message, errors)
        self.args = (message,)


class Bad(ExceptionGroup):
    def derive(self, errors: Sequence[Exception]) -> Any:
        return 42


class Raising(ExceptionGroup):
    def derive(self, errors: Sequence[Exception]) -> Any:
        raise LookupError("derive")


class Claims:
    @property
    def __class__(self) -> type:
        return ValueError


def nested() -> ExceptionGroup:
    return ExceptionGroup(
        "g",
        [ValueError(1), KeyError(2), ExceptionGroup("h", [ValueError(3), TypeError(4)])],
    )


@programs
def clauses_take_their_parts(x: Any) -> Any:
    out = []
    try:
        raise nested()
    except* ValueError as e:
        out.append((facts(e), sys.exc_info()[1] is e, e.exceptions[1].exceptions[0].args))
    except* (KeyError, OSError) as e:
        out.append((facts(e), sys.exc_info()[1] is e))
    except* TypeError as e:
        out.append(facts(e))
    return out, sys.exc_info()


@programs
def what_is_left_leaves(x: Any) -> Any:
    out = []
    try:
        try:
            raise nested()
        except* ValueError as e:
            out.append(facts(e))
    except BaseException as e:
        out.append(facts(e))
    return out


@programs
def leaves_the_function(x: Any) -> Any:
    try:
        raise nested()
    except* ValueError as e:
        pass


@programs
def raised_anew_and_again(x: Any) -> Any:
    out = []
    try:
        try:
            raise nested()
        except* ValueError as e:
            raise OSError(1)
        except* KeyError as e:
            raise
        except* TypeError as e:
            raise e
    except BaseException as e:
        out.append(facts(e))
        out.append([facts(part.__context__) for part in e.exceptions])
    return out


@programs
def only_again(x: Any) -> Any:
    out = []
    try:
        try:
            raise nested()
        except* ValueError as e:
            raise
        except* KeyError as e:
            e.add_note("seen")
            raise e
    except BaseException as e:
        out.append(facts(e))
    return out


@programs
def one_anew(x: Any) -> Any:
    try:
        try:
            raise ExceptionGroup("g", [ValueError(1)])
        except* ValueError as e:
            raise KeyError("k") from e
    except KeyError as e:
        return facts(e), facts(e.__cause__), e.__cause__ is e.__context__


@programs
def naked(x: Any) -> Any:
    out = []
    try:
        raise ValueError(1)
    except* KeyError as e:
        out.append("no")
    except* ValueError as e:
        out.append((facts(e), e.args[1] is e.exceptions))
    try:
        try:
            raise ValueError(2)
        except* KeyError:
            pass
    except ValueError as e:
        out.append(facts(e))
    try:
        try:
            raise ValueError(3)
        except* ValueError as e:
            raise
    except BaseException as e:
        out.append(facts(e))
    return out


@programs
def what_no_clause_may_name(x: Any) -> Any:
    out = []
    for kind in (ExceptionGroup, BaseExceptionGroup, Plain, (ValueError, Plain), 3, (3,)):
        try:
            try:
                raise ValueError(1)
            except* kind:
                pass
        except TypeError as e:
            out.append((str(e), facts(e)))
    return out


@programs
def nothing_raised(x: Any) -> Any:
    out = []
    try:
        out.append("body")
    except* ValueError:
        out.append("no")
    else:
        out.append("else")
    finally:
        out.append("finally")
    return out


@programs
def in_a_loop(x: Any) -> Any:
    out = []
    for i in range(4):
        try:
            if i == 3:
                continue
            raise nested()
        except* ValueError:
            out.append(i)
        except* (KeyError, TypeError):
            out.append(-i)
        finally:
            out.append("f")
    return out


@programs
def rules(x: Any) -> Any:
    out = []
    for make in (
        lambda: ExceptionGroup(),
        lambda: ExceptionGroup("a"),
        lambda: ExceptionGroup("a", [ValueError()], 3),
        lambda: ExceptionGroup(1, [ValueError()]),
        lambda: ExceptionGroup(None, [ValueError()]),
        lambda: ExceptionGroup("a", {}),
        lambda: ExceptionGroup("a", {1: 2}),
        lambda: ExceptionGroup("a", {ValueError()}),
        lambda: ExceptionGroup("a", 3),
        lambda: ExceptionGroup("a", None),
        lambda: ExceptionGroup("a", iter([ValueError()])),
        lambda: ExceptionGroup("a", []),
        lambda: ExceptionGroup("a", ""),
        lambda: ExceptionGroup("a", "bc"),
        lambda: ExceptionGroup("a", [ValueError(), 3]),
        lambda: ExceptionGroup("a", [ValueError]),
        lambda: ExceptionGroup("a", [Claims()]),
        lambda: ExceptionGroup("a", [ValueError()], more=1),
        lambda: ExceptionGroup("a", exceptions=[ValueError()]),
        lambda: ExceptionGroup("a", [KeyboardInterrupt()]),
        lambda: Plain("a", [KeyboardInterrupt()]),
        lambda: Plain("a", [OSError(2, "x")]),
        lambda: BaseExceptionGroup("a", [OSError(2, "x")]),
        lambda: BaseExceptionGroup("a", (OSError(2, "x"), SystemExit())),
        lambda: WithInit("a", (OSError(2, "x"),)),
        lambda: Coded("a", [ValueError(1)], 2),
        lambda: nested().split(),
        lambda: nested().split(1, 2),
        lambda: nested().split(3),
        lambda: nested().split((ValueError, 3)),
        lambda: nested().split(print),
        lambda: nested().subgroup(),
        lambda: nested().derive(),
        lambda: nested().derive(3),
        lambda: nested().derive([SystemExit()]),
    ):
        try:
            made = make()
            out.append((str(made), repr(made), facts(made)))
        except BaseException as e:
            out.append((repr(e), facts(e)))
    return out


@programs
def attributes(x: Any) -> Any:
    g = nested()
    out = [g.message, g.exceptions is g.exceptions, len(g.exceptions), g.args[1] is g.exceptions]
    t = (ValueError(1),)
    out.append(ExceptionGroup("t", t).exceptions is t)
    for act in (
        lambda: setattr(g, "message", "x"),
        lambda: setattr(g, "exceptions", ()),
        lambda: delattr(g, "message"),
    ):
        try:
            act()
        except AttributeError as e:
            out.append(str(e))
    g.args = ()
    out += [g.args, str(g), repr(g), g.message]
    return out


@programs
def made_and_returned(x: Any) -> Any:
    inner = ValueError(x.sum() + 1)
    g = ExceptionGroup("a", [inner])
    inner.__context__ = g
    g.args = ()
    h = Coded("b", [g, KeyError()], 7)
    h.add_note("n")
    return facts(h), h.code, inner.__context__ is g, [g, h, inner]


@programs
def taken_apart(x: Any) -> Any:
    g = nested()
    g.add_note("a note")
    g.__cause__ = OSError("c")
    try:
        raise g
    except ExceptionGroup as e:
        pass
    out = []
    for how in (
        ValueError,
        (KeyError, TypeError),
        (),
        ExceptionGroup,
        Exception,
        lambda e: e.args == (3,),
        lambda e: isinstance(e, ExceptionGroup) and e.message == "h",
        lambda e: [],
    ):
        match, rest = g.split(how)
        same = g.subgroup(how)
        out.append((facts(match), facts(rest), facts(same)))
        out.append((match is g, rest is g, same is g))
        if match is not None and match is not g:
            out.append(match.__traceback__ is g.__traceback__)
            out.append(match.__notes__ is g.__notes__)
            out.append(match.__cause__ is g.__cause__)
    return out


@programs
def derived(x: Any) -> Any:
    out = []
    g = Coded("c", [ValueError(1), Coded("d", [KeyError(2), ValueError(3)], 5)], 1)
    match, rest = g.split(ValueError)
    out.append((facts(match), match.code, [getattr(e, "code", 0) for e in match.exceptions]))
    out.append((facts(rest), rest.code, [getattr(e, "code", 0) for e in rest.exceptions]))
    try:
        raise g
    except* KeyError as e:
        out.append((facts(e), e.code))
    except* ValueError as e:
        out.append((facts(e), e.code))
    for kind in (Bad, Raising):
        try:
            try:
                raise kind("b", [ValueError(1), KeyError(2)])
            except* ValueError:
                out.append("no")
        except BaseException as e:
            out.append((facts(e), facts(e.__context__)))
    return out


@programs
def a_predicate_raises(x: Any) -> Any:
    def ask(e: BaseException) -> bool:
        if isinstance(e, KeyError):
            raise OSError("asked")
        return False

    try:
        nested().split(ask)
    except OSError as e:
        return facts(e)


@programs
def across_frames(x: Any) -> Any:
    out = []

    def inner(n: int) -> None:
        try:
            raise nested()
        except* ValueError as e:
            out.append(n)
            if n:
                inner(n - 1)

    try:
        inner(2)
    except ExceptionGroup as e:
        out.append(facts(e))
        out.append(facts(e.__context__))
    return out


@programs
def inside_a_handler(x: Any) -> Any:
    out = []
    try:
        raise LookupError("outer")
    except LookupError as outer:
        try:
            raise nested()
        except* ValueError as e:
            out.append(facts(e))
            out.append(e.__context__ is outer)
        except* (KeyError, TypeError) as e:
            out.append(e.__context__ is outer)
        out.append(sys.exc_info()[1] is outer)
    return out


@programs
def in_a_generator(x: Any) -> Any:
    def walk() -> Any:
        try:
            yield 1
        except* ValueError as e:
            yield facts(e)
        yield sys.exc_info()

    g = walk()
    return [next(g), g.throw(nested().subgroup(ValueError)), next(g)]


def catches(f: Callable[..., Any], x: torch.Tensor) -> Any:
    g = nested()
    g.add_note("before")
    try:
        return f(x, g), facts(g)
    except BaseException as e:
        return facts(e), e is g


@programs.used_by(lambda f, x: catches(lambda y, g: f((y, g)), x))
def one_that_existed(pair: Any) -> Any:
    x, g = pair
    out = [g.message, len(g.exceptions), g.exceptions[0].args, str(g), repr(g)]
    m, r = g.split(ValueError)
    out += [facts(m), facts(r), m.exceptions[0] is g.exceptions[0]]
    try:
        raise g
    except* ValueError as e:
        out.append(facts(e))
    except* KeyError as e:
        out.append(facts(e))
    except* TypeError as e:
        out.append(facts(e))
    return out


@programs.used_by(lambda f, x: catches(lambda y, g: f((y, g)), x))
def one_that_existed_is_raised(pair: Any) -> Any:
    x, g = pair
    try:
        raise g
    except* ValueError as e:
        e.add_note("taken")
    finally:
        g.add_note("done")


@pytest.mark.parametrize("name", list(programs))
def test_program(name: str) -> None:
    programs.compare(name)


@pytest.mark.parametrize("every", [1, 3])
@pytest.mark.parametrize("name", list(programs))
def test_breaks_anywhere(name: str, every: int) -> None:
    with breaking_every(every):
        programs.compare(name)


def test_operations_around_clauses_are_in_one_graph() -> None:
    def program(x: torch.Tensor) -> torch.Tensor:
        try:
            x = x + 1
            raise nested()
        except* ValueError as e:
            x = x * len(e.exceptions)
        except* KeyError:
            x = x - 1
        except* TypeError:
            x = x * 3
        return x + 2

    x = torch.arange(3.0)
    explanation = armature.explain(program)(x)
    assert explanation.graph_break_count == 0
    assert explanation.op_count == 5
    assert torch.equal(armature.compile(program, fullgraph=True)(x), program(x))
