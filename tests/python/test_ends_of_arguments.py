"""Arguments of a function that breaks end as in plain Python.

The function's frame holds them: it lets go of them in its order, and a traceback holds the frame.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

import armature
import pytest
import torch
from differential import breaking_every

LOG: list[Any] = []
MADE: list[weakref.ref[Any]] = []


class Thing:
    pass


def make(name: str) -> Thing:
    thing = Thing()
    MADE.append(weakref.ref(thing, lambda _: LOG.append(f"end of {name}")))
    return thing


def see(where: str) -> None:
    LOG.append((where, [made() is not None for made in MADE]))


def raises(a: Any, x: Any) -> None:
    armature.graph_break()
    see("callee")
    raise ValueError(1)


def raises_rebound(a: Any, x: Any) -> None:
    armature.graph_break()
    b = a  # noqa: F841
    a = None
    see("callee")
    raise ValueError(1)


def raises_deleted(a: Any, x: Any) -> None:
    armature.graph_break()
    del a
    see("callee")
    raise ValueError(1)


def raises_any(*arguments: Any, **keywords: Any) -> None:
    armature.graph_break()
    see("callee")
    raise ValueError(1)


def raises_within(a: Any, x: Any) -> None:
    b = make("b")  # noqa: F841
    raises(a, x)


def returns(*arguments: Any, k: Any, m: Any) -> None:
    own = make("own")  # noqa: F841
    armature.graph_break()
    see("callee")


def handled(x: Any) -> None:
    try:
        raises(make("a"), x)
    except ValueError:
        see("handler")


def handled_rebound(x: Any) -> None:
    try:
        raises_rebound(make("a"), x)
    except ValueError:
        see("handler")


def handled_deleted(x: Any) -> None:
    try:
        raises_deleted(make("a"), x)
    except ValueError:
        see("handler")


def handled_any(x: Any) -> None:
    try:
        raises_any(make("1"), x, make("2"), k=make("k"), m=make("m"))
    except ValueError:
        see("handler")


def handled_positional(x: Any) -> None:
    try:
        raises_any(make("1"), x)
    except ValueError:
        see("handler")


def handled_locals(x: Any) -> None:
    a, b = make("a"), make("b")
    try:
        raises_any(a, k=b)
    except ValueError:
        del a, b
        see("handler")


def handled_within(x: Any) -> None:
    try:
        raises_within(make("a"), x)
    except ValueError:
        see("handler")


def handled_as_context(x: Any) -> None:
    try:
        try:
            raises(make("a"), x)
        except ValueError:
            raise KeyError(2)  # noqa: B904
    except KeyError as error:
        see("handler")
        context = error.__context__
        error.__context__ = None
        see("without context")
        del context
        see("deleted")


def returned(x: Any) -> None:
    returns(make("1"), x, make("2"), k=make("k"), m=make("m"))


def closed_over(x: Any) -> None:
    outer = make("outer")

    def inner(a: Any) -> Any:
        own = make("own")  # noqa: F841
        armature.graph_break()
        see("inner")
        return outer  # noqa: F821

    inner(make("a"))
    del inner
    see("called")
    del outer


def turns(body: Callable[[Any], None]) -> Callable[[Any], Any]:
    def function(x: Any) -> Any:
        for _ in range(4):
            body(x)
            see("after")
            MADE.clear()
        return x + 1

    return function


BODIES = [
    handled,
    handled_rebound,
    handled_deleted,
    handled_any,
    handled_positional,
    handled_locals,
    handled_within,
    handled_as_context,
    returned,
    closed_over,
]


@pytest.mark.parametrize("body", BODIES, ids=lambda body: body.__name__)
def test_ends_of_arguments(body):
    function = turns(body)
    x = torch.ones(2)

    def heard(call: Callable[[Any], Any]) -> list[Any]:
        LOG.clear()
        MADE.clear()
        call(x)
        return list(LOG)

    expected = heard(function)
    compiled = armature.compile(function)
    assert heard(compiled) == expected
    assert heard(compiled) == expected


class Named:
    def __init__(self, x: Any) -> None:
        armature.graph_break()
        see("__init__")
        raise ValueError(3)

    def __del__(self) -> None:
        LOG.append("end of an instance")


class Called(Named):
    def __init__(self, x: Any) -> None:
        pass

    def __call__(self, x: Any) -> None:
        armature.graph_break()
        raise ValueError(4)


def handled_instance(x: Any) -> None:
    try:
        Named(x)
    except ValueError:
        see("handler")


def handled_call(x: Any) -> None:
    try:
        Called(x)(x)
    except ValueError:
        see("handler")


def check_heard(
    function: Callable[..., Any], heard: Callable[[Callable[..., Any]], list[Any]], every: int
) -> None:
    expected = heard(function)
    with breaking_every(every):
        compiled = armature.compile(function)
        for _ in range(3):
            assert heard(compiled) == expected


@pytest.mark.parametrize("every", [0, 1, 3])
@pytest.mark.parametrize("body", [handled_instance, handled_call])
def test_arguments_of_what_python_calls(body, every):
    x = torch.ones(2)

    def heard(call: Callable[[Any], Any]) -> list[Any]:
        LOG.clear()
        call(x)
        return list(LOG)

    check_heard(body, heard, every)


@pytest.mark.parametrize("every", [0, 1, 3])
@pytest.mark.parametrize("function", [raises, raises_rebound])
def test_arguments_that_only_the_call_has(function, every):
    x = torch.ones(2)

    def heard(call: Callable[[Any, Any], Any]) -> list[Any]:
        LOG.clear()
        MADE.clear()
        try:
            call(make("a"), x)
        except ValueError:
            see("handler")
        return list(LOG)

    check_heard(function, heard, every)
