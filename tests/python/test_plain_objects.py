"""object() in a trace: a mark that is nothing but itself."""

import heapq

import armature
import pytest
import torch
from differential import Cases, check

cases = Cases()


def outcome(function):
    try:
        return function()
    except (AttributeError, TypeError) as error:
        return type(error).__name__, str(error)


@cases.add(torch.ones(2), breaks=0)
def marks(x):
    one, other = object(), object()
    found = {one: 1, other: 2}
    return (
        one is one,
        one == other,
        one != other,
        found[other],
        type(one) is object,
        isinstance(one, object),
        isinstance(one, int),
        one in [other, one],
        max([], default=one) is one,
        bool(one),
        callable(one),
        x + 1,
    )


@cases.add(torch.ones(2), breaks=0)
def errors(x):
    one = object()
    return (
        outcome(lambda: one.missing),
        outcome(lambda: setattr(one, "x", 1)),
        outcome(lambda: delattr(one, "x")),
        outcome(lambda: one.__dict__),
        outcome(lambda: object(1)),
        outcome(lambda: object(a=1)),
        outcome(lambda: one < one),
        outcome(lambda: len(one)),
        outcome(lambda: one + 1),
        x + 1,
    )


@cases.add({"a": 1, "b": 3}, torch.ones(2), breaks=0)
def used_by_libraries(counts, x):
    return heapq.nlargest(1, counts.values()), x + 1


@pytest.mark.parametrize(("fn", "args", "options"), cases)
def test_object(fn, args, options):
    check(fn, *args, **options)


def test_each_call_makes_another():
    def make(x):
        mark = object()
        return mark, [mark], x + 1

    compiled = armature.compile(make, fullgraph=True)
    one, other = compiled(torch.ones(2)), compiled(torch.ones(2))
    assert type(one[0]) is object and one[0] is one[1][0] and one[0] is not other[0]


def test_a_break_keeps_it():
    @armature.compile
    def use(x):
        mark = object()
        held = {mark: x + 1}
        armature.graph_break()
        return held[mark], mark in held

    assert use(torch.ones(2))[1]
