"""Attributes of functions: those that functools.wraps copies, and `__dict__`; classes with
parameters made in a trace."""

import collections
import contextlib
import functools
import types

import armature
import pytest
import torch
from differential import check


def wrapped(x):
    def twice(function):
        @functools.wraps(function)
        def both(*arguments):
            "wraps it"
            return function(*arguments) * 2

        return both

    @twice
    def inner(v):
        "doc"
        return v + 1

    return inner(x), inner.__name__, inner.__doc__, inner.__wrapped__(x), inner.__qualname__


def manager(x):
    log = []

    @contextlib.contextmanager
    def scope(value):
        log.append("enter")
        try:
            yield value + 1
        except KeyError as error:
            log.append(error.args)
        finally:
            log.append("leave")

    with scope(x) as y:
        y = y * 2
        raise KeyError("k")
    return y, log, scope.__name__


def own_dict(x):
    def function():
        return x

    before = dict(function.__dict__)
    function.tag = x + 1
    function.__dict__["other"] = 2
    names = sorted(vars(function))
    del function.tag
    try:
        del function.tag
    except AttributeError as error:
        return before, names, function.__dict__, function.other, str(error), function


def escaping_dict(x):
    def function():
        return x

    names = function.__dict__
    names["a"] = x * 2
    return names


def counted(v):
    return v


def existing(x):
    counted.calls = getattr(counted, "calls", 0) + 1
    vars(counted)["last"] = x
    return x * counted.calls, counted.last is x


@pytest.mark.parametrize("fn", [wrapped, manager, own_dict, escaping_dict])
def test_as_in_python(fn):
    check(fn, torch.ones(2), breaks=0)


def test_attributes_of_an_existing_function():
    compiled = armature.compile(existing, fullgraph=True)
    for calls in range(1, 4):
        x = torch.ones(2)
        result, is_last = compiled(x)
        assert is_last and counted.last is x and counted.calls == calls
        assert torch.equal(result, x * calls)
    del counted.calls, counted.last
    assert torch.equal(compiled(x)[0], x)


def test_functions_without_a_dict_of_their_own_share_a_translation():
    def make(tag=None):
        def function(v):
            return v + 1

        if tag:
            function.tag = tag
        return function

    def use(function, x):
        return function(x) * getattr(function, "tag", 1)

    compiled = armature.compile(use, fullgraph=True)
    for tag in (None, 5, None, 7, None):
        function = make(tag)
        assert torch.equal(compiled(function, torch.ones(1)), use(function, torch.ones(1)))


def parametrized(x):
    def annotated(v: list[int]) -> dict[str, torch.Tensor]:
        return v

    names = annotated.__annotations__
    same = list[int] == types.GenericAlias(list, (int,)), list[int] == list[str]
    made = list[int]([1, 2]), collections.deque[int].__origin__ is collections.deque
    return x + 1, names, same, made, tuple[int, str].__args__, dict[str, int].__origin__, type[int]


def test_parametrized_classes():
    expected = parametrized(torch.ones(2))
    assert str(armature.compile(parametrized, fullgraph=True)(torch.ones(2))) == str(expected)


@pytest.mark.parametrize("name", ["__name__", "__qualname__"])
def test_names_are_strings(name):
    class Name(str):
        pass

    def attempts(x, values):
        def made():
            pass

        results = []
        for value in values:
            try:
                setattr(made, name, value)
            except TypeError as error:
                results.append(str(error))
            results.append(getattr(made, name))
        try:
            delattr(made, name)
        except TypeError as error:
            results.append(str(error))
        return x + 1, results, made

    compiled = armature.compile(attempts)
    values = ["a", 7, Name("b"), None, b"c", "d"]
    for _ in range(2):
        _, got, made = compiled(torch.ones(1), values)
        assert got == attempts(torch.ones(1), values)[1]
        assert getattr(made, name) == "d"
