"""Iterators of existing dicts and deques that go on behind a break, over what a trace has changed.

The iterator is made before the changes are done again, and notices them as the program's does.
"""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

import armature
import pytest


def step(iterator: Iterator[Any]) -> Any:
    try:
        return next(iterator)
    except (RuntimeError, StopIteration) as error:
        return repr(error)


def set_new(d: Any) -> None:
    d["new"] = 1


def set_old(d: Any) -> None:
    d["c"] = 1


def delete_first(d: Any) -> None:
    del d["a"]


def delete_later(d: Any) -> None:
    del d["c"]


def replace_key(d: Any) -> None:
    del d["a"]
    d["new"] = 1


def put_and_take(d: Any) -> None:
    d["new"] = 1
    del d["new"]


def take_and_put(d: Any) -> None:
    d["c"] = d.pop("c")


def clear(d: Any) -> None:
    d.clear()


def push(q: Any) -> None:
    q.append(7)


def push_and_pop(q: Any) -> None:
    q.append(7)
    q.pop()


def set_item(q: Any) -> None:
    q[1] = 7


def rotate(q: Any) -> None:
    q.rotate(2)


def take_left(q: Any) -> None:
    q.popleft()


OF_DICTS = [
    set_new,
    set_old,
    delete_first,
    delete_later,
    replace_key,
    put_and_take,
    take_and_put,
    clear,
]
OF_DEQUES = [push, push_and_pop, set_item, rotate, take_left, clear]


def walk(
    container: Any,
    make: Callable[[Any], Iterator[Any]],
    change: Callable[[Any], None],
    before: int,
    between: int,
) -> Any:
    iterator = make(container)
    seen = [step(iterator) for _ in range(before)]
    change(container)
    seen += [step(iterator) for _ in range(between)]
    armature.graph_break()
    return [*seen, step(iterator), step(iterator), step(iterator)], container


def loop(
    container: Any, make: Callable[[Any], Any], change: Callable[[Any], None], at: int, _: int
) -> Any:
    seen: list[Any] = []
    try:
        for number, item in enumerate(make(container)):
            seen.append(item)
            if number == at:
                change(container)
                armature.graph_break()
    except RuntimeError as error:
        seen.append(str(error))
    return seen, container


def outcome(program: Callable[..., Any], container: Any, *rest: Any) -> Any:
    return repr(program(container, *rest))


def check(make_container: Callable[[], Any], makers: list[Any], changes: list[Any]) -> None:
    for program in (walk, loop):
        for make, change, before, between in itertools.product(
            makers, changes, (0, 1, 2, 4), (0, 1)
        ):
            armature.reset()
            compiled = armature.compile(program)
            arguments = make, change, before, between
            expected = outcome(program, make_container(), *arguments)
            for _ in range(2):
                assert outcome(compiled, make_container(), *arguments) == expected, arguments


def test_dicts() -> None:
    makers = [iter, lambda d: iter(d.items()), lambda d: iter(d.values()), reversed]
    check(lambda: {"a": 1, "b": 2, "c": 3, "d": 4}, makers, OF_DICTS)


def test_deques() -> None:
    check(lambda: deque([1, 2, 3, 4]), [iter, reversed], OF_DEQUES)


@pytest.mark.parametrize("between", [0, 1])
@pytest.mark.parametrize(
    ("container", "change"),
    [({"a": 1, "b": 2, "c": 3}, each) for each in (set_new, delete_first, delete_later, clear)]
    + [(deque([1, 2, 3]), each) for each in OF_DEQUES],
)
def test_nothing_is_left_to_python(
    container: Any, change: Any, between: int, caplog: pytest.LogCaptureFixture
) -> None:
    compiled = armature.compile(walk)
    compiled(container.copy(), iter, change, 1, between)
    assert "failed to compile" not in caplog.text
