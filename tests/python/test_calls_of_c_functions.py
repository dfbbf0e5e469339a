"""Functions written in C check how they are called before they look at their arguments."""

import collections
import itertools
import math
import operator
import types
from typing import Any

import pytest
import torch
from differential import check

CALLS: dict[str, list[Any]] = {
    "functions": [
        lambda: len(),
        lambda: len([], []),
        lambda: len(a=1),
        lambda: repr(),
        lambda: hash(),
        lambda: callable(),
        lambda: abs(),
        lambda: any(),
        lambda: all(a=[]),
        lambda: ord("a", "b"),
        lambda: math.sqrt(),
        lambda: math.sqrt(1, 2),
        lambda: math.sqrt(a=1),
        lambda: operator.neg(),
        lambda: operator.neg(a=1),
        lambda: operator.add(a=1, b=2),
        lambda: operator.add(1),
        lambda: operator.truth(a=1),
        lambda: itertools.chain.from_iterable(),
    ],
    "methods": [
        lambda: [].append(),
        lambda: [].append(1, 2),
        lambda: [].append(x=1),
        lambda: [].clear(1),
        lambda: {}.keys(1),
        lambda: {}.get(a=1),
        lambda: set().add(),
        lambda: set().add(a=1),
        lambda: set().pop(1),
        lambda: collections.deque().append(),
        lambda: collections.deque().pop(1),
        lambda: "a".upper(1),
        lambda: "a".join(),
        lambda: "a".join(a=1),
        lambda: (1).bit_length(1),
    ],
    "unbound methods": [
        lambda: list.append(),
        lambda: list.append([], 1, 2),
        lambda: list.append([], a=1),
        lambda: list.append({}, 1),
        lambda: dict.get([], 1),
        lambda: dict.__getitem__([], 1),
    ],
    "slot wrappers": [
        lambda: list.__len__({}),
        lambda: list.__len__(),
        lambda: dict.__setitem__([], 1, 2),
        lambda: tuple.__iter__([]),
        lambda: collections.deque.__len__([]),
        lambda: collections.OrderedDict.__iter__([]),
        lambda: object.__eq__(),
        lambda: object.__hash__(),
        lambda: str.__len__([]),
        lambda: int.__add__("a", 1),
        lambda: type.__call__(1),
        lambda: type.__call__(),
        lambda: types.FunctionType.__get__(1, 2),
    ],
}


@pytest.mark.parametrize("kind", CALLS)
def test_wrong_calls(kind):
    calls = CALLS[kind]

    def function(x):
        said = []
        for call in calls:
            try:
                said.append(call())
            except TypeError as error:
                said.append(str(error))
        return said, x + 1

    check(function, torch.ones(2))


class Adds:
    def __radd__(self, other):
        return "radd"


class AddingList(list):
    def __radd__(self, other):
        return "radd"


def test_concat_asks_the_left_operand_alone():
    def function(x):
        said = []
        for join in (operator.concat, operator.iconcat):
            for left, right in (
                ([1], Adds()),
                ((1,), Adds()),
                ("a", Adds()),
                ([1], AddingList([2])),
            ):
                try:
                    said.append(join(left, right))
                except TypeError as error:
                    said.append(str(error))
        return said, x + 1

    check(function, torch.ones(2))
