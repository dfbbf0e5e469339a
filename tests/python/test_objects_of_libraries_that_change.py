"""Functions of libraries are constants of a trace but for what a program gives them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import armature
import numpy as np
import pytest

OBJECTS = {"ufunc": np.add, "function": np.sum, "linalg": np.linalg.norm}


@pytest.fixture(params=OBJECTS, autouse=True)
def given(request: pytest.FixtureRequest) -> Iterator[Any]:
    thing = OBJECTS[request.param]
    before = dict(thing.__dict__)
    yield thing
    thing.__dict__.clear()
    thing.__dict__.update(before)


def counts(thing: Any) -> Any:
    if not hasattr(thing, "calls"):
        thing.calls = 0
    thing.calls += 1
    return thing.calls


def asks(thing: Any) -> Any:
    try:
        found = thing.extra
    except AttributeError as error:
        found = str(error)
    return found, getattr(thing, "extra", None), hasattr(thing, "extra")


def stores_in_its_dict(thing: Any) -> Any:
    thing.__dict__["extra"] = 1
    before = hasattr(thing, "extra")
    del thing.__dict__["extra"]
    return before, hasattr(thing, "extra")


def tells(thing: Any) -> Any:
    return thing.__doc__, thing.__name__


@pytest.mark.parametrize("function", [counts, asks, stores_in_its_dict, tells])
def test_each_call_sees_what_is_there(given: Any, function: Callable[[Any], Any]) -> None:
    def run(f: Callable[[Any], Any]) -> list[Any]:
        results = [f(given), f(given)]
        given.extra = 5
        results += [f(given), f(given)]
        if "extra" in given.__dict__:
            del given.extra
        results.append(f(given))
        given.__dict__["extra"] = "six"
        results.append(f(given))
        given.__dict__.pop("extra", None)
        given.__dict__.pop("calls", None)
        return results

    expected = run(function)
    assert run(armature.compile(function)) == expected


def test_a_docstring_is_replaced(given: Any) -> None:
    def function() -> Any:
        return given.__doc__

    compiled = armature.compile(function)
    assert compiled() == function()
    given.__dict__["__doc__"] = "another"
    assert compiled() == function() == "another"
    given.__dict__["__doc__"] = "a third"
    assert compiled() == function() == "a third"


def test_a_method_is_hidden() -> None:
    def function(x: Any) -> Any:
        return np.add.reduce(x)

    x = np.arange(3.0)
    compiled = armature.compile(function)
    assert compiled(x) == function(x) == 3.0
    np.add.__dict__["reduce"] = lambda x: "hidden"
    try:
        assert compiled(x) == function(x) == "hidden"
    finally:
        del np.add.__dict__["reduce"]
    assert compiled(x) == function(x) == 3.0
