"""Exceptions that existed before the trace, raised, looked at and changed in it."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable
from typing import Any

import armature
import pytest
import torch
from differential import translations


class Error(Exception):
    def __init__(self, message: str, extra: int) -> None:
        super().__init__(message)
        self.extra = extra


class Group:
    """What a call is given."""

    def __init__(self) -> None:
        self.value = ValueError("text", 1)
        self.own = Error("own", 5)
        self.file = FileNotFoundError(2, "missing", "name")
        self.exit = SystemExit(3)
        self.syntax = SyntaxError("bad", ("file", 1, 2, "text"))
        self.unicode = UnicodeDecodeError("utf8", b"abc", 1, 2, "reason")
        self.linked = KeyError("linked")
        self.linked.__context__ = self.own
        self.linked.__cause__ = self.value
        self.raised = raised()
        self.log: list[Any] = []


def raised() -> BaseException:
    try:
        {}["key"]
    except KeyError as error:
        return error
    raise AssertionError


def raise_and_catch(x: Any, g: Group) -> Any:
    try:
        raise g.value
    except ValueError as error:
        return x + 1, error is g.value, error.args


def raise_twice(x: Any, g: Group) -> Any:
    for _ in range(3):
        try:
            raise g.value
        except ValueError:
            x = x + 1
    return x


def raise_through_frames(x: Any, g: Group) -> Any:
    def inner() -> None:
        raise g.raised

    def outer() -> None:
        inner()

    try:
        outer()
    except KeyError as error:
        return x + 1, str(error)


def raise_out(x: Any, g: Group) -> Any:
    x = x + 1
    raise g.own


def raise_from(x: Any, g: Group) -> Any:
    try:
        raise g.value from g.own
    except ValueError as error:
        return x * 2, error.__cause__ is g.own, error.__suppress_context__


def raise_new_from(x: Any, g: Group) -> Any:
    try:
        raise RuntimeError("new") from g.linked
    except RuntimeError as error:
        return x * 2, error.__cause__ is g.linked, error


def raise_while_handling(x: Any, g: Group) -> Any:
    try:
        try:
            raise g.value
        except ValueError:
            raise g.own  # noqa: B904
    except Error as error:
        return x * 2, error.__context__ is g.value


def cut_the_chain(x: Any, g: Group) -> Any:
    try:
        try:
            raise g.linked
        except KeyError:
            raise g.own  # noqa: B904
    except Error as error:
        return x * 2, error.__context__, g.linked.__context__


def attributes(x: Any, g: Group) -> Any:
    return (
        x + 1,
        g.value.args,
        g.own.extra,
        g.own.args,
        (g.file.errno, g.file.strerror, g.file.filename, g.file.filename2),
        g.exit.code,
        (g.syntax.msg, g.syntax.lineno, g.syntax.text, g.syntax.end_lineno),
        (g.unicode.encoding, g.unicode.object, g.unicode.start, g.unicode.end, g.unicode.reason),
        g.linked.__cause__ is g.value,
        g.linked.__context__ is g.own,
        g.linked.__suppress_context__,
        g.value.__traceback__,
        g.raised.__traceback__ is None,
    )


def texts(x: Any, g: Group) -> Any:
    return x, str(g.value), repr(g.own), str(g.file), repr(g.exit), str(g.linked)


def texts_of_the_others(x: Any, g: Group) -> Any:
    return x, str(g.syntax), str(g.unicode), f"{g.raised!r}"


def changes(x: Any, g: Group) -> Any:
    g.value.args = ("other",)
    g.own.extra += 1
    g.own.note = "note"
    g.file.filename = "else"
    g.exit.code = x
    g.linked.__cause__ = None
    g.linked.__suppress_context__ = False
    g.raised.__traceback__ = None
    g.syntax.__context__ = g.value
    return str(g.value), str(g.file), g.linked.__suppress_context__, g.raised.__traceback__


def notes(x: Any, g: Group) -> Any:
    g.value.add_note("first")
    g.value.add_note("second")
    return g.value.__notes__


def with_traceback(x: Any, g: Group) -> Any:
    try:
        raise g.value.with_traceback(g.raised.__traceback__)
    except ValueError:
        return x + 1


def matching(x: Any, g: Group) -> Any:
    names = []
    for error in (g.value, g.own, g.file, g.exit):
        try:
            raise error
        except (ValueError, OSError):
            names.append("value or file")
        except Error as caught:
            names.append(str(caught.extra))
        except BaseException as caught:
            names.append(type(caught).__name__)
    return x, names


def after_a_break(x: Any, g: Group) -> Any:
    try:
        try:
            torch._dynamo.graph_break()
            raise g.own
        finally:
            g.log.append("finally")
    except Error as error:
        print(error.extra)
        x = x + error.extra
        try:
            raise
        except Error as again:
            return x, again is error


def thrown_into_a_generator(x: Any, g: Group) -> Any:
    def generator() -> Any:
        try:
            yield x
        except ValueError as error:
            yield error.args

    made = generator()
    return next(made), made.throw(g.value)


class Manager:
    def __init__(self, log: list[Any]) -> None:
        self.log = log

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: Any, error: Any, trace: Any) -> bool:
        self.log.append((kind, error, trace is None))
        return True


def in_with(x: Any, g: Group) -> Any:
    with Manager(g.log):
        raise g.file
    return x + 1


PROGRAMS = [
    raise_and_catch, raise_twice, raise_through_frames, raise_out, raise_from, raise_new_from,
    raise_while_handling, cut_the_chain, attributes, texts, texts_of_the_others, changes, notes,
    with_traceback, matching, after_a_break, thrown_into_a_generator, in_with,
]  # fmt: skip


def shown(value: Any, depth: int = 4) -> Any:
    """What can be told of a value: of an exception all that it has, its traceback too."""
    if isinstance(value, BaseException):
        if depth == 0:
            return type(value)
        lines = [(entry.name, entry.line) for entry in traceback.extract_tb(value.__traceback__)]
        return (
            type(value), shown(value.args, depth - 1), shown(value.__cause__, depth - 1),
            shown(value.__context__, depth - 1), value.__suppress_context__, str(value),
            shown(vars(value), depth - 1), [line for line in lines if line[0] != "observe"],
        )  # fmt: skip
    if isinstance(value, torch.Tensor):
        return value.tolist()
    if isinstance(value, dict):
        return {key: shown(part, depth) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [shown(part, depth) for part in value]
    return value if isinstance(value, (str, int, bytes, bool, type, type(None))) else type(value)


def observe(function: Callable[..., Any], group: Group) -> Any:
    try:
        result = function(torch.arange(3.0), group)
    except BaseException as error:
        result = error
    return shown(result), shown(vars(group))


@pytest.mark.parametrize("handling", [False, True])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_existing_exceptions(program: Callable[..., Any], handling: bool) -> None:
    compiled = armature.compile(program)
    for _ in range(3):
        plain, captured = Group(), Group()
        for _ in range(2):  # the exceptions have been raised, then
            if handling:
                try:
                    raise RuntimeError("handled")
                except RuntimeError:
                    expected, found = observe(program, plain), observe(compiled, captured)
            else:
                expected, found = observe(program, plain), observe(compiled, captured)
            assert found == expected


@pytest.mark.parametrize(
    "program",
    [p for p in PROGRAMS if p not in (raise_out, after_a_break, thrown_into_a_generator)],
    ids=lambda p: p.__name__,
)
def test_existing_exceptions_are_captured_whole(program: Callable[..., Any]) -> None:
    armature.compile(program, fullgraph=True)(torch.arange(3.0), Group())


def test_one_translation_serves_all_exceptions() -> None:
    def text(x: Any, error: ValueError) -> Any:
        try:
            raise error
        except ValueError:
            return x + 1

    compiled = armature.compile(text)
    for number in range(20):
        compiled(torch.ones(2), ValueError(number, *range(number)))
    assert translations(compiled) == 1


def test_the_recursion_limit_is_a_guarded_input() -> None:
    def limit(x: Any) -> Any:
        return x + 1, sys.getrecursionlimit()

    compiled = armature.compile(limit, fullgraph=True)
    before = sys.getrecursionlimit()
    try:
        for number in (before, before + 1, before):
            sys.setrecursionlimit(number)
            assert compiled(torch.ones(1))[1] == number
    finally:
        sys.setrecursionlimit(before)
