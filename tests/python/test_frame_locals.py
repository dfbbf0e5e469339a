"""What `frame.f_locals` tells, of frames that are running, to those whom they call.

Before each statement of a program a spy is called that looks at all frames of the program.
"""

import ast
import contextlib
import inspect
import sys
import textwrap
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

import armature
import pytest
import torch

Seen = list[tuple[str, dict[str, str]]]
seen: Seen = []


def told(value: Any) -> str:
    if isinstance(value, torch.Tensor):
        return f"tensor {value.tolist()}"
    if isinstance(value, list | tuple | dict | set | int | float | str | type(None)):
        return f"{type(value).__name__} {value!r}"
    return type(value).__name__


def record(frame: FrameType | None) -> None:
    while frame is not None and frame.f_code.co_filename == "<program>":
        told_here = {name: told(value) for name, value in frame.f_locals.items()}
        seen.append((frame.f_code.co_name, told_here))
        frame = frame.f_back


def look(depth: int) -> None:
    record(sys._getframe(depth))


def spy() -> None:
    look(2)


@armature.disable(recursive=True)
def hidden_spy() -> None:
    """One of which the trace does not know that it looks at frames."""
    frame = inspect.currentframe()
    while frame is not None and frame.f_code.co_filename != "<program>":
        frame = frame.f_back
    record(frame)


@contextlib.contextmanager
def manager() -> Iterator[int]:
    yield 3


PROGRAMS = {
    "straight": """
        def program(x):
            a, b = 1, "two"
            c = [a, b]
            y = x * 2
            a = {"k": c}
            del b
            z = y + x
            b, a = a, 7.5
            return z
        """,
    "dead at once": """
        def program(x):
            unread = 5
            also = [unread, x]
            more = x + 1
            last = (more, also)
            return x
        """,
    "arguments": """
        def program(x, n=3, *rest, key="k", **others):
            n = n + 1
            rest = rest + (n,)
            x = x + n
            del key
            others["new"] = n
            return x
        """,
    "cells": """
        def program(x):
            a, b = 1, [2]
            def inner():
                nonlocal a
                a += 1
                c = b + [a]
                return c
            d = inner()
            b = 3
            e = lambda: (b, x)
            del a
            a = d
            return x + len(d)
        """,
    "loops": """
        def program(x):
            total = 0
            for i in range(4):
                square = i * i
                if i == 1:
                    odd = [i]
                    continue
                total += square
                part = x + i
            while total > 3:
                total -= 5
                rest = total
            else:
                end = "else"
            return x + total
        """,
    "calls": """
        def inner(y, name):
            z = [name]
            w = y * 3
            name = name.upper()
            return w
        def middle(y):
            label = "m"
            first = inner(y, label)
            second = inner(first, "n")
            return second
        def program(x):
            before = (1, 2)
            y = middle(x)
            after = before + (3,)
            return y
        """,
    "handlers": """
        def program(x):
            caught = None
            try:
                part = x + 1
                try:
                    raise ValueError("v")
                except ValueError as e:
                    caught = str(e)
                    raise KeyError("k") from None
                finally:
                    last = "f"
            except KeyError as e:
                text = repr(e)
            return part
        """,
    "managers": """
        def program(x):
            with manager() as m, torch.no_grad():
                y = x * m
                inside = [m]
            out = inside
            with manager():
                m = None
            return y
        """,
    "comprehensions": """
        def program(x):
            n = 2
            items = [i * n for i in range(3)]
            pairs = {k: [k + j for j in items] for k in items}
            found = any(i > n for i in items)
            return x + sum(items)
        """,
    "classes": """
        def program(x):
            class Point:
                def __init__(self, x):
                    self.x = x
                def move(self, by):
                    moved = self.x + by
                    self.x = moved
                    return self
            point = Point(1)
            other = point.move(2).x
            point = None
            return x + other
        """,
    "match": """
        def program(x):
            for value in [1, (2, 3), {"k": 4, "l": 5}, "none"]:
                match value:
                    case int(n):
                        kind = "int"
                    case (a, b):
                        kind = "pair"
                    case {"k": k, **rest}:
                        kind = "dict"
                    case other:
                        kind = "other"
            return x + n
        """,
}


class Watch(ast.NodeTransformer):
    def __init__(self, spy_name: str) -> None:
        self.spy_name = spy_name

    def visit(self, node: ast.AST) -> ast.AST:
        self.generic_visit(node)
        for field in ("body", "orelse", "finalbody"):
            statements = getattr(node, field, None)
            is_code = isinstance(statements, list) and not isinstance(
                node, ast.Module | ast.ClassDef
            )
            if is_code and statements:
                watched = []
                for statement in statements:
                    call = ast.parse(f"{self.spy_name}()").body[0]
                    watched += [call, statement]
                setattr(node, field, watched)
        return node


def made(source: str, spy_name: str) -> Callable[..., Any]:
    tree = Watch(spy_name).visit(ast.parse(textwrap.dedent(source)))
    namespace = {"spy": spy, "hidden_spy": hidden_spy, "torch": torch, "manager": manager}
    exec(compile(ast.fix_missing_locations(tree), "<program>", "exec"), namespace)
    program: Callable[..., Any] = namespace["program"]
    return program


def run(program: Callable[..., Any]) -> Seen:
    seen.clear()
    program(torch.ones(2))
    return seen.copy()


@pytest.mark.parametrize("name", PROGRAMS)
def test_all_local_variables_where_frames_are_read(name: str) -> None:
    program = made(PROGRAMS[name], "spy")
    plain = run(program)
    assert plain
    compiled = armature.compile(program)
    for _ in range(3):
        assert run(compiled) == plain


def test_variables_are_in_their_order() -> None:
    def names() -> list[str]:
        return list(sys._getframe(1).f_locals)

    def f(a: Any, b: Any, c: Any) -> Any:
        d = [1]
        b = d
        armature.graph_break()
        f, e = a, c
        a = 5
        c = e
        return names(), e, f, a, c, b, d

    compiled = armature.compile(f)
    for _ in range(2):
        assert compiled(torch.ones(2), [1], "c")[0] == f(torch.ones(2), [1], "c")[0]


@pytest.mark.parametrize("name", PROGRAMS)
def test_no_other_local_variables(name: str) -> None:
    program = made(PROGRAMS[name], "hidden_spy")
    plain = run(program)
    compiled = armature.compile(program)
    for _ in range(3):
        captured = run(compiled)
        assert [function for function, _ in captured] == [function for function, _ in plain]
        for (_, expected), (_, found) in zip(plain, captured, strict=True):
            assert expected | found == expected
