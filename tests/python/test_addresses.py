"""id() of objects that are the same ones in each call, and of others."""

from __future__ import annotations

import copy
import inspect
from typing import Any

import armature
import torch
from differential import check


class Thing:
    def __init__(self, value: Any) -> None:
        self.value = value


THING = Thing(1)
LINEAR = torch.nn.Linear(2, 2)


def entries(compiled: Any) -> int:
    return len(armature._C.entries(compiled))


def test_addresses_of_what_stays() -> None:
    def f(x: torch.Tensor) -> Any:
        seen = {id(THING): "thing", id(LINEAR): "module", id(LINEAR.weight): "weight"}
        seen |= {id(f): "function", id(Thing): "class", id(len): "builtin", id(None): "none"}
        return x + 1, id(THING) == id(THING), seen[id(LINEAR.weight)], len(seen), id(THING)

    check(f, torch.ones(2))
    compiled = armature.compile(f, fullgraph=True)
    for _ in range(4):
        assert compiled(torch.ones(2))[1:] == (True, "weight", 7, id(THING))
    assert entries(compiled) == 1


def test_another_object_in_its_place() -> None:
    holder = Thing(Thing(0))

    def f(x: torch.Tensor) -> Any:
        return x + 1, id(holder.value)

    compiled = armature.compile(f)
    for _ in range(3):
        assert compiled(torch.ones(1))[1] == id(holder.value)
        holder.value = Thing(1)
        assert compiled(torch.ones(1))[1] == id(holder.value)


def test_addresses_of_what_a_call_makes() -> None:
    def f(n: int, text: str) -> Any:
        made = [n]
        return id(made) == id(made), id(text) == id(text), id(n) == id(n), id(made) is not None

    check(f, 1000, "a text")


def test_memos_by_address() -> None:
    def wrapped(x: int) -> int:
        return x

    def f(x: torch.Tensor) -> Any:
        copied = copy.deepcopy({"a": [1, (2, 3)], "b": "text", "c": None})
        return x + 1, copied, str(inspect.signature(wrapped)), inspect.unwrap(wrapped) is wrapped

    check(f, torch.ones(2))


def first() -> int:
    return 1


def second() -> int:
    return 2


def test_functions_in_existing_sets() -> None:
    known = frozenset([list, first, None])

    def f(function: Any) -> Any:
        return function in known, list in known, first in known, dict in known

    compiled = armature.compile(f, fullgraph=True)
    for function in (first, second, first, list, lambda: 1):
        assert compiled(function) == f(function)


def test_texts_of_functions() -> None:
    def f(function: Any) -> Any:
        return str(function), f"{function}", [function]

    def program(function: Any) -> Any:
        text, same, functions = f(function)
        return text, same, repr(functions)

    compiled = armature.compile(program, fullgraph=True)
    for function in (first, second, first):
        assert compiled(function) == program(function)
    name = first.__qualname__
    try:
        first.__qualname__ = "renamed"
        assert compiled(first) == program(first)
        assert "renamed" in compiled(first)[0]
    finally:
        first.__qualname__ = name


def test_the_text_of_a_function_that_the_trace_makes() -> None:
    def program() -> Any:
        return str(lambda: 1).split(" at ")[0]

    assert armature.compile(program)() == program()
